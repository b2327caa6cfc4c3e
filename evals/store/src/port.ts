export const port = 8100;
