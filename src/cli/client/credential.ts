import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fail } from '../../base/failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { bytesGiven } from '../whole-file.ts'

const cleaned = (content: string | Buffer, from: string): string => {
  const token = String(content).trim()
  if (token === '') return fail('usage', `${from} contains no token.`)
  return /^[\x21-\x7e]+$/.test(token) ? token : fail('usage', `${from} must contain exactly one token.`)
}

const fromFile = (path: string, from: string): string => cleaned(bytesGiven(path, from), from)

/**
 * Client token from `--token-file PATH` (`-` for standard input), ROLLCALL_TOKEN, the file of ROLLCALL_TOKEN_FILE, or
 * `~/.config/rollcall/token`; undefined without any. The token is never taken from an argument, because every user of
 * the machine could read it.
 */
export const findToken = async (
  tokenFile: string | undefined,
  { env, info, readStdin }: Terminal,
): Promise<string | undefined> => {
  if (tokenFile === '-') return cleaned(await readStdin(), 'Standard input')
  if (tokenFile !== undefined) return fromFile(tokenFile, 'The file of --token-file')
  const { ROLLCALL_TOKEN: direct, ROLLCALL_TOKEN_FILE: named } = env
  if (direct !== undefined && direct !== '') return cleaned(direct, 'ROLLCALL_TOKEN')
  if (named !== undefined && named !== '') return fromFile(named, 'The file of ROLLCALL_TOKEN_FILE')

  const path = join(env['XDG_CONFIG_HOME'] || join(env['HOME'] ?? homedir(), '.config'), 'rollcall', 'token')
  const mode = statSync(path, { throwIfNoEntry: false })?.mode
  if (mode === undefined) return undefined
  if ((mode & 0o077) !== 0) info(`warning: other users can read ${path}; run: chmod 600 ${path}`)
  return fromFile(path, path)
}
