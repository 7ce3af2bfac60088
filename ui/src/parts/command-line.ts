import { addressOf } from '../api/request.ts'
import { shellWord } from './shell-word.ts'

/** A request as a line for a shell, with the token in its environment; one with a body is a POST. */
export const curlOf = (path: string, body?: string): string => {
  const asked = `curl -sS ${shellWord(addressOf(path))} -H "Authorization: Bearer $TOKEN"`
  return body === undefined ? asked : `${asked} -H 'Content-Type: application/json' -d ${shellWord(body)}`
}

/** A line of the command-line tool, of this service; what it is about stands behind the options. */
export const rollcallOf = (verb: readonly string[], options: readonly string[], about: string): string =>
  ['rollcall', ...verb, `--address=${addressOf('').replace(/\/$/, '')}`, ...options, '--', about]
    .map(shellWord)
    .join(' ')
