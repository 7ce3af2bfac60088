import { access } from './access.ts'
import { counted } from './common.ts'
import { tokens } from './tokens.ts'

type Because = {
  readonly grant: number
  readonly namespaceKey: string
  readonly role?: string | undefined
  readonly rule?: string | undefined
}

const place = (namespaceKey: string): string => (namespaceKey === '*' ? 'in every namespace' : `in ${namespaceKey}`)

const granted = ({ role, namespaceKey, rule }: Because): string => {
  const grant = role === undefined ? `A right ${place(namespaceKey)}` : `${access.role(role)} ${place(namespaceKey)}`
  return rule === undefined ? grant : `${grant}, by the rule ${rule}`
}

export const review = {
  heading: 'Access',
  things: 'tokens',
  question: 'Question',
  right: 'Right',
  /** Option of a right: its description and its key. */
  rightOption: (name: string) => `${access.right(name)} · ${name}`,
  namespace: 'Namespace',
  everywhere: 'In every namespace',
  everywhereOnly:
    'This list has only the tokens with this right in every namespace. Choose a namespace to include the tokens that have it there.',
  token: 'Token',
  anyToken: 'All that can',
  openTokens: 'Open the list of tokens',
  noToken: 'No token begins so. Paste the id of a token or of a session.',
  thatTime: 'at that time',
  at: (instant: string) => `at ${instant}`,
  /** Heading of the answer. `moment` is absent for the present. */
  who: (right: string, namespaceKey: string, moment: string | undefined) =>
    `Who ${moment === undefined ? 'can' : 'could'} ${access.right(right)} ${place(namespaceKey)} ${moment ?? 'now'}?`,
  can: (name: string, right: string, namespaceKey: string, moment: string | undefined) =>
    `${moment === undefined ? 'Can' : 'Could'} ${name} ${access.right(right)} ${place(namespaceKey)} ${moment ?? 'now'}?`,
  answer: 'Answer',
  yes: 'Yes',
  no: 'No',
  deployment: 'This right counts only where it is granted in every namespace.',
  anonymous: 'Everybody can, without a credential: the configuration asks nobody for one.',
  count: (n: number, exact: boolean) =>
    exact ? counted(n, 'token or session', 'tokens and sessions') : `more than ${counted(n, 'token', 'tokens')}`,
  table: 'Tokens with the right',
  columns: { token: 'Token or session', why: 'Why', maker: 'Created by' },
  session: 'Session',
  signIn: 'A sign-in',
  noMaker: 'Not known',
  none: 'Nobody can',
  noneWhy: 'No usable token has this right there.',
  download: 'Download as CSV',
  /** Reason of a decision. */
  reason: (reason: string, namespaceKey: string, because: Because | undefined): string => {
    if (reason === 'granted') return because ? granted(because) : 'Every session can'
    return (
      {
        full_reach: access.full,
        namespaced: tokens.of(namespaceKey),
        open: 'Everybody can, without a credential',
        not_granted: 'No grant gives it this right there',
        token_expired: 'It has expired',
        token_deleted: 'It was deleted',
        token_unknown: 'There was no such token',
      }[reason] ?? reason
    )
  },
}
