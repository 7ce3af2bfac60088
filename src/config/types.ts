import { hasTokenForm, TOKEN_FORM } from '../auth/client-token.ts'
import { canBeAddress, isPattern } from './email.ts'
import type { SettingKind } from './setting.ts'

const UNITS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const
const PART = /(\d+(?:\.\d+)?)(ms|h|m|s)/y

/** Maximum duration: 100 years, so that a date plus a duration remains valid. */
const LONGEST_MS = 876_000 * UNITS.h

/**
 * Parses a duration such as `250ms`, `10s`, `1h30m` to milliseconds; undefined for other texts and for more than 100
 * years.
 */
export const parseDuration = (text: string): number | undefined => {
  let total = 0
  PART.lastIndex = 0
  for (let end = 0; end < text.length; end = PART.lastIndex) {
    const part = PART.exec(text)
    if (!part) return undefined
    total += Number(part[1]) * UNITS[part[2] as keyof typeof UNITS]
  }
  return text === '' || total > LONGEST_MS ? undefined : Math.round(total)
}

/** Shortest text of a duration in milliseconds: 5400000 is `1h30m`. */
export const printDuration = (ms: number): string => {
  let [rest, text] = [ms, '']
  for (const [unit, size] of Object.entries(UNITS)) {
    const count = Math.floor(rest / size)
    if (count > 0) text += `${count}${unit}`
    rest -= count * size
  }
  return text || '0s'
}

/** Type of a value in words, without the value. */
export const named = (value: unknown): string =>
  value === null
    ? 'nothing'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'a map'
        : `a ${typeof value}`

/** Returns the problem of a text, or undefined. */
export type Check = (text: string) => string | undefined
type TextRules = {
  readonly check?: Check
  readonly empty?: true
  readonly fix?: (text: string) => string
  readonly show?: (text: string) => unknown
  readonly schema?: Readonly<Record<string, unknown>>
}

/** A non-empty text, normalized by `fix` and then checked. */
export const textual = (words: string, { check, fix, show, schema, empty }: TextRules = {}): SettingKind<string> => ({
  words,
  read: (value, fault) => {
    if (typeof value !== 'string') {
      const scalar = typeof value === 'number' || typeof value === 'boolean'
      return fault(`expected text, got ${named(value)}${scalar ? ': put it in quotes' : ''}`)
    }
    if (value === '' && !empty) return fault('must not be empty')
    if (!empty && /\p{Cc}/u.test(value)) return fault('must not contain control characters such as line ends')
    const fixed = fix ? fix(value) : value
    const problem = check?.(fixed)
    return problem === undefined ? fixed : fault(problem)
  },
  parse: (text) => text,
  show: show ?? ((value) => value),
  schema: { type: 'string', ...(empty ? {} : { minLength: 1 }), ...schema },
  textual: true,
})
export const text = textual('text', {
  check: (value) => (value === value.trim() ? undefined : 'must not begin or end with a blank'),
})
/** Display text on one line. */
export const label = textual('text', {
  check: (value) =>
    [...value].length <= 64 && !/\p{Cc}/u.test(value) ? undefined : 'must be at most 64 characters on one line',
  schema: { maxLength: 64 },
})
export const anyText = textual('text', { empty: true })
export const path = textual('path')
/** Never shown. */
export const secret = textual('secret text', { show: () => undefined })
/** A secret that is used as a token (api.md §3.1). */
export const tokenText = textual('secret text', {
  show: () => undefined,
  check: (value) => {
    if (value.length < 16) return 'must be at least 16 characters'
    return hasTokenForm(value) ? undefined : `must be ${TOKEN_FORM}`
  },
})
/** A text that matches a pattern as a whole; `rule` is the error message. */
export const matching = (pattern: RegExp, rule: string): SettingKind<string> =>
  textual('text', { check: (value) => (pattern.test(value) ? undefined : rule), schema: { pattern: pattern.source } })
/** Prefix of stream names in a store that other applications may use; may be empty. */
export const streamPrefix = textual('text', {
  empty: true,
  check: (value) =>
    /^[A-Za-z0-9_.:/]{0,64}$/.test(value) ? undefined : 'must be at most 64 letters, digits and _ . : /',
  schema: { pattern: '^[A-Za-z0-9_.:/]{0,64}$' },
})
/** RE2 pattern for whole e-mail addresses. */
export const emailPattern = textual('pattern', {
  check: (value) => {
    if (!isPattern(value)) return 'is not a pattern (RE2 syntax)'
    return canBeAddress(value)
      ? undefined
      : 'cannot match an e-mail address: patterns match the whole address, for example .*@example\\.com'
  },
})
/** Login or slug of an organization at a code host; groups of GitLab have slashes. */
export const organization = matching(/^[^\s*]+$/, 'must be a login or slug: blanks and * match nothing')
/** Slug of a team. */
export const slug = matching(/^[^\s*/]+$/, 'must be a slug: blanks, * and / match nothing')
/** Name of a namespace or service account of Kubernetes; `*` stands for all. */
export const kubernetesName = matching(
  /^(?:\*|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/,
  'must be a name in Kubernetes, or * for all: * within a name, / and upper case match nothing',
)
export const header = matching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be a header name')
export const identifier = matching(/^[a-z][a-z0-9_]{0,31}$/, 'must match ^[a-z][a-z0-9_]{0,31}$')

/** One of several words, case-insensitive. */
export const oneOf = <const W extends string>(...words: readonly W[]): SettingKind<W> => ({
  words: words.map((word) => `\`${word}\``).join(', '),
  read: (value, fault) =>
    words.find((word) => typeof value === 'string' && word.toLowerCase() === value.toLowerCase()) ??
    fault(`must be one of ${words.map((word) => JSON.stringify(word)).join(', ')}`),
  parse: (text) => text,
  show: (value) => value,
  schema: { enum: words },
  textual: true,
})

export const bool: SettingKind<boolean> = {
  words: 'true or false',
  read: (value, fault) => (typeof value === 'boolean' ? value : fault(`expected true or false, got ${named(value)}`)),
  parse: (text) => ({ true: true, '1': true, false: false, '0': false })[text.trim().toLowerCase()] ?? text,
  show: (value) => value,
  schema: { type: 'boolean' },
}

export const integer = (least: number, most: number): SettingKind<number> => ({
  words: 'integer',
  read: (value, fault) =>
    typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
      ? value
      : fault(`expected an integer from ${least} to ${most}`),
  parse: (text) => (/^\s*\d+\s*$/.test(text) ? Number(text) : text),
  show: (value) => value,
  schema: { type: 'integer', minimum: least, maximum: most },
})

/** Duration in ms, greater than 0. */
export const duration: SettingKind<number> = {
  words: 'duration',
  read: (value, fault) => {
    const ms = typeof value === 'string' ? parseDuration(value.trim()) : undefined
    if (ms === undefined) return fault('expected a duration such as 250ms, 10s, 1h30m')
    return ms > 0 ? ms : fault('must be longer than 0')
  },
  parse: (text) => text,
  show: printDuration,
  schema: { type: 'string', pattern: '^(\\d+(\\.\\d+)?(ms|h|m|s))+$' },
}

/** Setting that is accepted for compatibility with files of other servers and ignored. */
export const ignored: SettingKind<undefined> = {
  words: 'anything',
  read: () => undefined,
  parse: (text) => text,
  show: () => undefined,
  schema: {},
}
