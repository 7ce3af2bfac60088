/**
 * Converts the name of an organization or team to lower case for comparison. Only ASCII letters are converted, so that
 * no other letter becomes equal to one of them.
 */
const foldName = (name: string): string => name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/**
 * Converts the domain of an e-mail address to lower case (RFC 5321 §2.4). The part before the last `@` stays unchanged.
 */
export const foldDomain = (address: string): string => {
  const domain = address.lastIndexOf('@') + 1
  return domain === 0 ? address : address.slice(0, domain) + foldName(address.slice(domain))
}

/** Returns true if the list contains the name, regardless of case. */
export const listsName = (list: readonly string[], name: string): boolean => list.map(foldName).includes(foldName(name))

/** Team names in the form of rules: `organization/slug`. */
export const teamNames = (teams: Readonly<Record<string, readonly string[]>>): readonly string[] =>
  Object.entries(teams).flatMap(([organization, slugs]) => slugs.map((slug) => `${organization}/${slug}`))
