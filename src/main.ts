#!/usr/bin/env node
import { systemClock } from './clock.ts'
import { run } from './cli/program.ts'
import type { LoadServices } from './cli/services.ts'
import { processTerminal } from './cli/terminal/terminal.ts'

/** Loaded late: the house is heavy, and most verbs do without it. Those that write to stores write for their owner only. */
const load: LoadServices = () => {
  process.umask(0o077)
  return import('./app/start.ts')
}

process.exitCode = await run(process.argv.slice(2), { load, clock: systemClock, terminal: processTerminal() })
