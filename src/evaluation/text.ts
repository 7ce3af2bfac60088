/** Unicode White_Space. Differs from `String.prototype.trim`, which removes U+FEFF but not U+0085. */
const isSpace = (unit: number): boolean =>
  unit < 128
    ? unit === 32 || (unit >= 9 && unit <= 13)
    : unit === 0x85 ||
      unit === 0xa0 ||
      unit === 0x1680 ||
      (unit >= 0x2000 && unit <= 0x200a) ||
      unit === 0x2028 ||
      unit === 0x2029 ||
      unit === 0x202f ||
      unit === 0x205f ||
      unit === 0x3000

/** Removes Unicode White_Space at both ends. */
export const trim = (text: string): string => {
  let [start, end] = [0, text.length]
  while (start < end && isSpace(text.charCodeAt(start))) start++
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

const SHORT = 32

/**
 * Returns a substring test in linear time. The builtin search is quadratic on crafted texts, so it is used only for
 * short parts. Longer parts use the Knuth-Morris-Pratt algorithm.
 */
export const finder = (part: string): ((text: string) => boolean) => {
  if (part.length <= SHORT) return (text) => text.includes(part)
  const units = new Uint16Array(part.length)
  for (let n = 0; n < part.length; n++) units[n] = part.charCodeAt(n)
  // fallback[n]: length of the longest proper prefix of part that is a suffix of part[0..n].
  const fallback = new Uint32Array(part.length)
  for (let n = 1, length = 0; n < part.length; n++) {
    while (length > 0 && units[length] !== units[n]) length = fallback[length - 1] as number
    if (units[length] === units[n]) length++
    fallback[n] = length
  }

  // The step is repeated here, because a function call makes it four times slower.
  return (text) => {
    for (let n = 0, length = 0; n < text.length; n++) {
      const unit = text.charCodeAt(n)
      while (length > 0 && units[length] !== unit) length = fallback[length - 1] as number
      if (units[length] === unit && ++length === part.length) return true
    }
    return false
  }
}
