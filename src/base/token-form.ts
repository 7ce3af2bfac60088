/** Client token of the service's own form, at any place in a text: prefix, 43 base62 characters, and 6 of a CRC-32. */
export const CLIENT_TOKEN = /rc[tpskb]_[0-9A-Za-z]{49}/

/** The same except the bootstrap token, which the first start logs. */
const REPLACED = /rc[tpsk]_[0-9A-Za-z]{49}/g

/** Returns the text with a placeholder for each client token. */
export const withoutTokens = (text: string): string => text.replace(REPLACED, '[client token]')
