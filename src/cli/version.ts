import type { Command } from 'commander'
import { version } from '../base/version.ts'
import { type CommandServices, withField, withOutput } from './options.ts'
import { type OutputOptions, printOne } from './terminal/output.ts'

/** `rollcall version`: prints the version. */
export const addVersion = (program: Command, { terminal }: CommandServices): void => {
  withField(withOutput(program.command('version'), ['table', 'json']))
    .summary('print the version')
    .action((look: OutputOptions) => {
      const facts = { version, node: process.versions.node, os: process.platform, arch: process.arch }
      const names = ['version', 'node', 'os', 'arch'] as const
      printOne(
        terminal,
        facts,
        () => facts.version,
        names.map((name) => [name.toUpperCase(), (all: typeof facts) => all[name]] as const),
        look,
      )
    })
}
