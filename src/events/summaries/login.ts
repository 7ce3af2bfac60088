import type { loginEvents } from '../login.ts'
import { plain, type Summaries } from './sentence.ts'
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
