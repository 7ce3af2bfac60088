import { addressOf } from '../api/request.ts'
import { shellWord } from './shell-word.ts'

/** Formats a request as a `curl` command that reads the token from the environment. A request with a body is a POST. */
export const curlOf = (path: string, body?: string): string => {
  const asked = `curl -sS ${shellWord(addressOf(path))} -H "Authorization: Bearer $TOKEN"`
  return body === undefined ? asked : `${asked} -H 'Content-Type: application/json' -d ${shellWord(body)}`
}

/** Formats a `rollcall` command for this service; `about` is the positional argument after the options. */
export const rollcallOf = (verb: readonly string[], options: readonly string[], about: string): string =>
  ['rollcall', ...verb, `--address=${addressOf('').replace(/\/$/, '')}`, ...options, '--', about]
    .map(shellWord)
    .join(' ')
