/* sha2.c includes it; the names have one version here. */
