const most = 255

/** Derives a key from a name: lower case, with `-` for every run of other characters. */
export const keyOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .slice(0, most)
    .replaceAll(/^-+|-+$/g, '')

export const isKey = (text: string): boolean => /^[-_,A-Za-z0-9]+$/.test(text)
