import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { withField, withOutput } from './options.ts'
import { type OutputOptions, printOne } from './terminal/output.ts'

/** The version of this package. */
export const version = (): string => {
  const manifest = readFileSync(resolve(import.meta.dirname, '../../../package.json'), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** `rollcall version`. */
export const addVersion = (program: Command): void => {
  withField(withOutput(program.command('version'), ['table', 'json']))
    .summary('print the version')
    .action((look: OutputOptions) => {
      const facts = { version: version(), node: process.versions.node, os: process.platform, arch: process.arch }
      const names = ['version', 'node', 'os', 'arch'] as const
      printOne(
        facts,
        () => facts.version,
        names.map((name) => [name.toUpperCase(), (all: typeof facts) => all[name]] as const),
        look,
      )
    })
}
