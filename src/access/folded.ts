/** A name of a code host, in which case means nothing. Only ASCII letters are folded: no other letter may become one of them. */
const foldName = (name: string): string => name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** An e-mail address, in whose domain case means nothing (RFC 5321 §2.4). What stands in front of the last `@` is left as it is. */
export const foldDomain = (address: string): string => {
  const domain = address.lastIndexOf('@') + 1
  return domain === 0 ? address : address.slice(0, domain) + foldName(address.slice(domain))
}

/** Whether a name stands in a list, whatever its case. */
export const listsName = (list: readonly string[], name: string): boolean => list.map(foldName).includes(foldName(name))

/** Teams as rules name them, `organization/slug`. */
export const teamNames = (teams: Readonly<Record<string, readonly string[]>>): readonly string[] =>
  Object.entries(teams).flatMap(([organization, slugs]) => slugs.map((slug) => `${organization}/${slug}`))
