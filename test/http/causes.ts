import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type LoginCause, loginCauses } from '../../src/auth/login-causes.ts'
import { loginFailures } from '../../src/contract/login/login-failures.ts'

/** Row of the table of causes: log text with placeholders in braces, and page text. */
export type Row = {
  readonly cause: LoginCause
  readonly reason: string
  readonly page: string
  readonly why: string
  readonly change: string
}

/** Refusals for which the page shows the account. */
export const OF_PERSON: readonly string[] = ['email_not_allowed', 'membership_required', 'no_grant']
/** The page explains the provider's error code. */
const BY_WORD = 'by the word of the provider'

const pageOf = (cause: string, reason: string): string => {
  if (reason === 'provider_error') return BY_WORD
  const { title } = loginFailures[cause] ?? loginFailures[reason]!
  return OF_PERSON.includes(reason) ? `${title} And the account.` : title
}

/** Rows from the source. */
export const known: readonly Row[] = Object.entries(loginCauses).flatMap(([reason, causes]) =>
  Object.entries(causes).map(([cause, [why, change]]: [string, readonly [string, string]]) => ({
    cause: cause as LoginCause,
    reason,
    page: pageOf(cause, reason),
    why,
    change,
  })),
)

const cell = (text = '') => text.trim().replaceAll(/^`|`$/g, '')

/** Rows from docs/api.md. */
export const documented = (): readonly Row[] => {
  const api = readFileSync(resolve(import.meta.dirname, '../../../docs/api.md'), 'utf8')
  const [, table = ''] = /^\| `cause` \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(api) ?? []
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [cause, reason, page, why, change] = line.split('|').slice(1).map(cell)
      return { cause: cause as LoginCause, reason: reason!, page: page!, why: why!, change: change! }
    })
}
