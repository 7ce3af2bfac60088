/** Client token of the service's own form, at any place in a text: prefix, 43 base62 characters, and 6 of a CRC-32. */
export const CLIENT_TOKEN = /rc[tpskb]_[0-9A-Za-z]{49}/

/** All client tokens of a log line except the bootstrap token, which the first start logs. */
export const LOGGED_TOKENS = /rc[tpsk]_[0-9A-Za-z]{49}/g
