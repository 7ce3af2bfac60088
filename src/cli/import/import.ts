import type { Command } from 'commander'
import { type CommandServices, withReason, withTarget } from '../options.ts'
import type { ImportOptions } from './run.ts'

/** `rollcall import`: creates the flags, segments and namespaces of a document in a running service. */
export const addImport = (program: Command, given: CommandServices): void => {
  withReason(withTarget(program.command('import [files...]'), given))
    .summary('create the flags and segments of documents')
    .description(
      'Creates the namespaces, segments and flags of YAML or JSON documents. All documents, rights and numbers of items are checked before the first write.',
    )
    .option('--stdin', 'read the document from standard input')
    .option('--skip-existing', 'keep existing flags and segments unchanged')
    .option(
      '--drop',
      'change existing flags and segments to the document, and at the end delete those that it does not have',
    )
    .option('--dry-run', 'only print the plan (+ create, * change, ~ skip, - delete) and write nothing')
    .option('-y, --yes', 'skip the confirmation')
    .option('--no-progress', 'no progress bar')
    .action(async (files: readonly string[], options: ImportOptions) => {
      // The module is loaded here because it includes the validation rules of the service; other commands start faster
      // without it.
      const { runImport } = await import('./run.ts')
      await runImport(files, options, given)
    })
}
