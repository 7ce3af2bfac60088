#!/usr/bin/env node
import { run } from './cli/program.ts'
import type { Services } from './cli/services.ts'

/** Loaded late, and by address: the house is heavy, and most verbs do without it. */
const app = async (): Promise<Services> => (await import(new URL('./app.js', import.meta.url).href)) as Services

process.exitCode = await run(process.argv.slice(2), app)
