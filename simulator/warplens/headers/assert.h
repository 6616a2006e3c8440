// Nothing: what a kernel can use of it is built in.
