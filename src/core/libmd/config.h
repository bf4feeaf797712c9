/* sha2.c includes it; nothing is to be configured. */
