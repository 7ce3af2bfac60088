import { type LoginCause, type LoginFailureText, loginCauses, loginPages } from '../../src/base/login-causes.ts'

/** Row of the table of causes: log text with placeholders in braces, and title of the page. */
type Row = { readonly cause: LoginCause; readonly reason: string } & Readonly<
  Record<'title' | 'why' | 'change', string>
>

/** Refusals for which the page shows the account. */
export const OF_PERSON: readonly string[] = ['email_not_allowed', 'membership_required', 'no_grant']
const pages: Readonly<Record<string, LoginFailureText>> = loginPages

export const rows: readonly Row[] = Object.entries(loginCauses).flatMap(([reason, causes]) =>
  Object.entries<readonly [string, string]>(causes).map(([cause, [why, change]]) => {
    return { cause: cause as LoginCause, reason, title: (pages[cause] ?? pages[reason])!.title, why, change }
  }),
)
export const rowOf = (cause: string): Row => rows.find((row) => row.cause === cause)!
