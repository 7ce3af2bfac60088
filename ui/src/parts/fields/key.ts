const most = 255

/** Letters that have no decomposition, in plain letters. */
const PLAIN: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
}

/** Derives a key from a name: lower case, letters without marks, with `-` for every run of other characters. */
export const keyOf = (name: string): string =>
  name
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[ßæœøłđðþı]/g, (letter) => PLAIN[letter]!)
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .slice(0, most)
    .replaceAll(/^-+|-+$/g, '')

export const isKey = (text: string): boolean => /^[-_,A-Za-z0-9]+$/.test(text)
