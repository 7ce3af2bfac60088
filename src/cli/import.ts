import type { Command } from 'commander'
import type { ImportOptions } from './import/run.ts'
import { withReason, withTarget } from './options.ts'
import type { CommandServices } from './services.ts'

/** `rollcall import`: flags, segments and namespaces of a document into a running service. */
export const addImport = (program: Command, given: CommandServices): void => {
  withReason(withTarget(program.command('import [file]'), given))
    .summary('make the flags and segments of a document')
    .description(
      'Makes the namespaces, segments and flags of a YAML or JSON document. Everything is checked before anything is written.',
    )
    .option('--stdin', 'read the document from standard input')
    .option('--skip-existing', 'leave flags and segments that are there as they are')
    .option('--drop', 'first delete all flags and segments of the namespaces in the document')
    .option('--dry-run', 'print the plan (+ create, ~ skip, - drop, * update) and write nothing')
    .option('-y, --yes', 'do not ask')
    .option('--no-progress', 'no bar')
    .action(async (file: string | undefined, options: ImportOptions) => {
      // The rules of the service are checked here too; the other verbs start faster without them.
      const { runImport } = await import('./import/run.ts')
      await runImport(file, options, given)
    })
}
