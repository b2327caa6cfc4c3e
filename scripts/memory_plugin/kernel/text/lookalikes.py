"""Letters of other scripts that look like Latin ones (Unicode TR 39, confusables)."""

from __future__ import annotations

LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0405\u0408"
    "\u03bf\u03b1\u03b5\u03b9\u03ba\u03bd\u03c1\u03c5\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03a5",
    "aeopcyxijshdqwABEKMHOPCTXISJoaeikvpuABEHIKMNOPTXY",
)
