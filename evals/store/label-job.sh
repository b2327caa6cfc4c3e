#!/bin/sh
echo "label-job failed: printer offline" >&2
exit 3
