#!/usr/bin/env node
import { tooOld } from './cli/node-version.ts'
import type { Around } from './cli/options.ts'

const USAGE = 2

/** Loads a module of the application. Files that the process writes afterwards are accessible only to their owner. */
const load: Around['load'] = (module) => {
  process.umask(0o077)
  return module()
}

/** Runs the command line. Imports its modules here, because an old Node.js cannot load them. */
const main = async (): Promise<number> => {
  const { systemClock: clock } = await import('./base/clock.ts')
  const { run } = await import('./cli/program.ts')
  const { processTerminal } = await import('./cli/terminal/terminal.ts')
  return run(process.argv.slice(2), { load, clock, terminal: processTerminal() })
}

const old = tooOld(process.versions.node)
// Node.js would end with exit code 13 and without a message, if a promise of a command never settles.
process.once('beforeExit', () => {
  if (process.exitCode !== undefined) return
  process.stderr.write('error: The command ended with unfinished work, for example a lost connection. Try again.\n')
  process.exitCode = 1
})
if (old !== undefined) process.stderr.write(`error: ${old}\n`)
process.exitCode = old === undefined ? await main() : USAGE
