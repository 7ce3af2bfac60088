import type { loginEvents, logoutEvents } from '../login.ts'
import { counted, plain, type Summaries } from './sentence.ts'
import { loginText } from './token.ts'

/** Summaries of the events of a login. The summaries omit the id of the login, which is a digest. */
export const loginSummaries: Summaries<typeof loginEvents> = {
  LoginStarted: ({ method, provider, startedAt }) => `${loginText(method, provider)} started at ${plain(startedAt)}`,
  LoginReturned: ({ returnedAt }) => `login returned from its provider at ${plain(returnedAt)}`,
  LoginCompleted: ({ subject, tokenId }) => `login of ${plain(subject)} completed with token ${plain(tokenId)}`,
  LoginRefused: ({ reason }) => `login refused: ${plain(reason)}`,
}

/** Summaries of the logouts that a provider reported. */
export const logoutSummaries: Summaries<typeof logoutEvents> = {
  ProviderLogoutReceived: ({ provider, subject, issuedAt }) =>
    `${plain(provider)} signed ${subject === undefined ? 'a session' : plain(subject)} out at ${plain(issuedAt)}`,
  ProviderLogoutCompleted: ({ provider, sessions }) =>
    `sign-out at ${plain(provider)} ended ${counted(sessions, 'session')}`,
}
