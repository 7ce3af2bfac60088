import { RE2JS } from 're2js'
import { foldDomain } from '../access/folded.ts'

/** True when a text is a pattern that can be matched in linear time (RE2 syntax: no back references, no look-around). */
export const isPattern = (text: string): boolean => {
  try {
    RE2JS.compile(text)
    return true
  } catch {
    return false
  }
}

/** Tells whether an e-mail address, as it is or with its domain in lower case, matches one of the patterns as a whole; without patterns every address does (api.md §5.5). */
export const emailMatcher = (patterns: readonly string[]): ((email: string) => boolean) => {
  const compiled = patterns.map((pattern) => RE2JS.compile(pattern))
  const matches = (address: string) => compiled.some((pattern) => pattern.testExact(address))
  return (email) => compiled.length === 0 || matches(email) || matches(foldDomain(email))
}
