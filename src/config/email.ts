import { RE2JS } from 're2js'
import { foldDomain } from '../access/folded.ts'
import type { LoginCause } from '../auth/login-causes.ts'

/** True when a text is a pattern that can be matched in linear time (RE2 syntax: no back references, no look-around). */
export const isPattern = (text: string): boolean => {
  try {
    RE2JS.compile(text)
    return true
  } catch {
    return false
  }
}

/** Whether a pattern can be that of a whole e-mail address: there is an `@` or something that takes one, with something on both sides. */
export const canBeAddress = (text: string): boolean => {
  const pattern = text.replace(/^\^/, '').replace(/(?<!\\)\$$/, '')
  const isOpen = /\.[*+{]|[\])][*+{]|\[\^|\\[SWD]/.test(pattern)
  const isBare = !pattern.includes('|') && (pattern.startsWith('@') || pattern.endsWith('@'))
  return !isBare && (pattern.includes('@') || isOpen)
}

/** Tells whether an e-mail address, as it is or with its domain in lower case, matches one of the patterns as a whole; without patterns every address does (api.md §5.5). */
export const emailMatcher = (patterns: readonly string[]): ((email: string) => boolean) => {
  const compiled = patterns.map((pattern) => RE2JS.compile(pattern))
  const matches = (address: string) => compiled.some((pattern) => pattern.testExact(address))
  return (email) => compiled.length === 0 || matches(email) || matches(foldDomain(email))
}

/** The domain that every address of a pattern has, where it ends in one that is written out. */
const domainOf = (pattern: string): string | undefined => {
  const [, domain] = /@((?:[a-z0-9-]|\\?\.)+)\)?\$?$/i.exec(pattern) ?? []
  return domain?.replaceAll('\\', '').toLowerCase()
}

/** Why an e-mail address matches none of the patterns, if it does not: by its domain, where each of them writes one out, or as a whole. */
export const emailBar = (patterns: readonly string[]): ((email: string) => LoginCause | undefined) => {
  const matches = emailMatcher(patterns)
  const domains = patterns.map(domainOf)
  return (email) => {
    if (matches(email)) return undefined
    const domain = foldDomain(email).slice(email.lastIndexOf('@') + 1)
    return domains.includes(undefined) || domains.includes(domain) ? 'email_unmatched' : 'email_domain'
  }
}
