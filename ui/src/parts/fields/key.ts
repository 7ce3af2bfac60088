const most = 255

/** The key that follows from a name: lower case, and `-` for what no key has. */
export const keyOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .slice(0, most)
    .replaceAll(/^-+|-+$/g, '')

export const isKey = (text: string): boolean => /^[-_,A-Za-z0-9]+$/.test(text)
