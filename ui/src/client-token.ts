const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHECK = 6
const whole = /^rc[a-z]_[0-9A-Za-z]{49}$/
const begun = /^rc[a-z]_[0-9A-Za-z]{0,48}$/

const crc32 = (text: string): number => {
  let rest = 0xffffffff
  for (const byte of new TextEncoder().encode(text)) {
    rest ^= byte
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0)
  }
  return (rest ^ 0xffffffff) >>> 0
}

const checksum = (text: string): string => {
  let value = crc32(text)
  let check = ''
  for (let n = 0; n < CHECK; n++) {
    check = ALPHABET[value % 62] + check
    value = Math.floor(value / 62)
  }
  return check
}

/** Whether a text has the form of a client token but a wrong checksum. Such a text is not sent. */
export const isMistyped = (token: string): boolean =>
  whole.test(token) && !token.endsWith(checksum(token.slice(0, -CHECK)))

/** Whether a text begins like a client token but is shorter. */
export const looksCutOff = (token: string): boolean => begun.test(token)
