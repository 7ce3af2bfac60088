#!/usr/bin/env node
import { tooOld } from './cli/node-version.ts'
import type { LoadServices } from './cli/services.ts'

const USAGE = 2

/**
 * Loads the service on demand, because it is large and most commands do not need it. Files written by the process are
 * accessible only to their owner.
 */
const load: LoadServices = () => {
  process.umask(0o077)
  return import('./app/start.ts')
}

/** Runs the command line. Imports its modules here, because an old Node.js cannot load them. */
const main = async (): Promise<number> => {
  const { systemClock: clock } = await import('./base/clock.ts')
  const { run } = await import('./cli/program.ts')
  const { processTerminal } = await import('./cli/terminal/terminal.ts')
  return run(process.argv.slice(2), { load, clock, terminal: processTerminal() })
}

const old = tooOld(process.versions.node)
if (old !== undefined) process.stderr.write(`error: ${old}\n`)
process.exitCode = old === undefined ? await main() : USAGE
