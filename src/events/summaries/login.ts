import type { loginEvents, logoutEvents } from '../login.ts'
import { counted, plain, type Summaries } from './sentence.ts'
import { loginText } from './token.ts'

/** Summaries of the events of a login. The summaries omit the id of the login, which is a digest. */
export const loginSummaries: Summaries<typeof loginEvents> = {
  LoginStarted: {
    patterns: ['login through (<provider>|the code host) started at <time>'],
    of: ({ method, provider, startedAt }) => `${loginText(method, provider)} started at ${plain(startedAt)}`,
  },
  LoginReturned: {
    patterns: ['login returned from its provider at <time>'],
    of: ({ returnedAt }) => `login returned from its provider at ${plain(returnedAt)}`,
  },
  LoginCompleted: {
    patterns: ['login of <subject> completed with token <id>'],
    of: ({ subject, tokenId }) => `login of ${plain(subject)} completed with token ${plain(tokenId)}`,
  },
  LoginRefused: {
    patterns: ['login refused: <reason>'],
    of: ({ reason }) => `login refused: ${plain(reason)}`,
  },
}

/** Summaries of the logouts that a provider reported. */
export const logoutSummaries: Summaries<typeof logoutEvents> = {
  ProviderLogoutReceived: {
    patterns: ['<provider> signed (<subject>|a session) out at <time>'],
    of: ({ provider, subject, issuedAt }) =>
      `${plain(provider)} signed ${subject === undefined ? 'a session' : plain(subject)} out at ${plain(issuedAt)}`,
  },
  ProviderLogoutCompleted: {
    patterns: ['sign-out at <provider> ended <n> (session|sessions)'],
    of: ({ provider, sessions }) => `sign-out at ${plain(provider)} ended ${counted(sessions, 'session')}`,
  },
}
