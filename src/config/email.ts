import { RE2JS } from 're2js'
import { foldDomain } from '../access/rules.ts'
import { isPrintable } from '../base/control-characters.ts'

/** Returns true for a valid RE2 pattern. RE2 matches in linear time, without back references and look-around. */
export const isPattern = (text: string): boolean => {
  try {
    RE2JS.compile(text)
    return true
  } catch {
    return false
  }
}

/**
 * Returns true if a pattern can match a whole e-mail address: it contains `@` or a wildcard that matches it, with text
 * on both sides, and no blank.
 */
export const canBeAddress = (text: string): boolean => {
  const alternatives = /[()[\]]/.test(text) ? [text] : text.split('|')
  return alternatives.some((alternative) => {
    const pattern = alternative.replace(/^\^/, '').replace(/(?<!\\)\$$/, '')
    const isOpen = /\.[*+{]|[\])][*+{]|\[\^|\\[SWD]/.test(pattern)
    const isBare = !pattern.includes('|') && (pattern.startsWith('@') || pattern.endsWith('@'))
    return !isBare && !/\s/.test(pattern) && (pattern.includes('@') || isOpen)
  })
}

/**
 * Matcher of e-mail addresses. The address must match one of the patterns as a whole, unchanged or with its domain in
 * lower case, and must have no control character; without patterns every address matches (api.md §5.5).
 */
export const emailMatcher = (patterns: readonly string[]): ((email: string) => boolean) => {
  const compiled = patterns.map((pattern) => RE2JS.compile(pattern))
  const matches = (address: string) => compiled.some((pattern) => pattern.testExact(address))
  return (email) => compiled.length === 0 || (isPrintable(email) && (matches(email) || matches(foldDomain(email))))
}
