import type { Shown } from '../../../src/contract/answer.ts'
import type { SessionsFound, TokenFound } from '../../../src/contract/history/searches.ts'
import { read } from './request.ts'

export type FoundSessions = Shown<typeof SessionsFound>

/** Sends a search, which has a body but writes nothing. */
const search = <T>(path: string, body: object): Promise<T> =>
  read(path, { method: 'POST', body: JSON.stringify(body), reads: true })

/** Finds a token by the SHA-256 of its text, also if it is deleted. */
export const findToken = (sha256: string): Promise<TokenFound> => search('audit/v1/tokens/find', { sha256 })

/** Finds live sessions of a person by the whole email address or login name. The service records the search. */
export const findSessions = (person: string, pageToken: string): Promise<FoundSessions> =>
  search('auth/v1/sessions/find', { person, pageToken })
