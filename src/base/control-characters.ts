/** Control characters, and characters that change the writing direction. */
const STEERING = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
/** Escape of a UTF-16 unit in JSON: `\u` and four hexadecimal digits. */
export const escapeUnit = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Shows control characters as escapes, so that a name cannot control the terminal. */
export const escapeControl = (text: string): string => text.replace(STEERING, escapeUnit)

/** The same for a text of several lines; keeps tabs and line ends. In JSON the escapes keep their meaning. */
export const escapeLines = (text: string): string =>
  text.replace(STEERING, (sign) => (sign === '\n' || sign === '\t' ? sign : escapeUnit(sign)))

/**
 * Returns true if a text of an identity can match a pattern or a name of the configuration: it has no control character
 * and does not change the writing direction.
 */
export const isPrintable = (text: string): boolean => text.search(STEERING) === -1
