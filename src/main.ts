#!/usr/bin/env node
import { run } from './cli/program.ts'
import type { LoadServices } from './cli/services.ts'

/** Loaded late: the house is heavy, and most verbs do without it. */
const app: LoadServices = () => import('./app.ts')

process.exitCode = await run(process.argv.slice(2), app)
