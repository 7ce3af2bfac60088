import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { escapeControl, escapeLines } from '../base/control-characters.ts'
import { EXIT, fail, isFailure } from '../base/failure.ts'
import { PROVEN_COLUMNS, type Proven, provenEvent } from './check/event-proof.ts'
import { type Evidence, insistOnCheckpoint, keysGiven, readEvidence, textOfFile } from './check/evidence.ts'
import { verifyExport } from './check/export-check.ts'
import { MANIFEST, readManifest } from './check/inputs.ts'
import { type Output, reportVerdict } from './check/report.ts'
import { base64Of } from './platform.ts'
import { PROOF_HEADER } from './proof/proof-text.ts'

const USAGE = `Usage: node rollcall-verify.mjs [options] FILE|DIRECTORY...

Verifies exports, proofs of events and checkpoints of Rollcall, without a service and without a network.
DIRECTORY stands for its exports (*${MANIFEST}), proofs (*.tlog-proof) and checkpoints (checkpoint-*).

  --vkey KEY         verifier key that you trust, or a file with one a line (repeatable)
  --checkpoint FILE  retained checkpoint (repeatable)
  --hashes FILE      retained hashes of the records, one a line from index 0
  --event FILE       file with the texts that do not fit into the proof
  -o, --output FORM  text or json
  -h, --help         this text

Exit code 0: verified. 3: something was changed, added or removed. Other codes: nothing could be verified.
`

const options = {
  vkey: { type: 'string', multiple: true },
  checkpoint: { type: 'string', multiple: true },
  hashes: { type: 'string' },
  event: { type: 'string' },
  output: { type: 'string', short: 'o', default: 'text' },
  help: { type: 'boolean', short: 'h' },
} as const

type CheckOptions = Evidence & { readonly event?: string; readonly output: 'text' | 'json' }

const { stdout, stderr } = process
const foreign = (text: string): string => (stdout.isTTY ? escapeLines(text) : text)
const output: Output = {
  print: (text) => void stdout.write(text),
  printForeign: (text) => void stdout.write(foreign(text)),
  info: (text) => void stderr.write(`${stderr.isTTY ? escapeLines(text) : text}\n`),
}

/** Table of the members of a proven event. */
const tableOf = (event: Proven): string => {
  const rows = [['FIELD', 'VALUE'], ...PROVEN_COLUMNS.map(([title, text]) => [title, escapeControl(text(event))])]
  const width = Math.max(...PROVEN_COLUMNS.filter(([, text]) => text(event) !== '').map(([title]) => title.length))
  return rows
    .filter(([, text]) => text !== '')
    .map(([title, text]) => `${title!.padEnd(width)}  ${text}\n`)
    .join('')
}

const checkExport = async (file: string, given: CheckOptions): Promise<number> => {
  const [read, retained] = [await readManifest(file, undefined), await readEvidence(given)]
  const verdict = await verifyExport(read, retained, {})
  if (read.manifest.filter['q'] !== undefined)
    output.info('The filter q was not checked, because it searches texts that this program does not make.')
  return reportVerdict(verdict, retained, true, given.output, output)
}

/** Checks a proof or a checkpoint. */
const checkText = async (file: string, { vkey, event, output: form }: CheckOptions): Promise<number> => {
  const text = await textOfFile(file, 'The file')
  if (vkey === undefined)
    return fail('usage', `${file} needs the key of its ledger: set --vkey KEY.`, 'GET /audit/v1/ledger shows the key.')
  const keys = await keysGiven(vkey)
  if (text.startsWith(PROOF_HEADER)) {
    const proven = await provenEvent(file, text, keys, event)
    output.printForeign(form === 'json' ? `${JSON.stringify(proven, undefined, 2)}\n` : tableOf(proven))
  } else {
    const { origin, size, root } = insistOnCheckpoint(text, keys, file)
    const members = { origin, size, root: base64Of(root) }
    output.printForeign(
      form === 'json'
        ? `${JSON.stringify(members)}\n`
        : `checkpoint of ${origin}, size ${size}, root ${members.root}\n`,
    )
  }
  return EXIT.ok
}

/** Files to check at a path. */
const filesAt = (path: string): readonly string[] => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path]
  const found = readdirSync(path).filter(
    (name) => name.endsWith(MANIFEST) || name.endsWith('.tlog-proof') || /^checkpoint-\d+$/.test(name),
  )
  if (found.length === 0) fail('notFound', `${path} has no export, no proof and no checkpoint.`)
  return found.toSorted().map((name) => join(path, name))
}

const isExport = (file: string): boolean => file.endsWith(MANIFEST) || existsSync(`${file}${MANIFEST}`)

/** Runs a step and returns its exit code; a failure is printed. */
const exitOf = async (step: () => Promise<number>): Promise<number> => {
  try {
    return await step()
  } catch (error) {
    output.info(`error: ${error instanceof Error ? error.message : String(error)}`)
    return EXIT[isFailure(error) ? error.kind : 'failed']
  }
}

const parsed = () => {
  try {
    return parseArgs({ options, allowPositionals: true })
  } catch (error) {
    return fail('usage', (error as Error).message)
  }
}

const run = async (): Promise<number> => {
  const { values, positionals } = parsed()
  if (values.help) {
    output.print(USAGE)
    return EXIT.ok
  }
  const form = (['text', 'json'] as const).find((one) => one === values.output)
  const given = { ...values, output: form ?? fail('usage', 'The output is text or json.') }
  if (positionals.length === 0) return fail('usage', 'Name a file or a directory.', USAGE)
  const files = positionals.flatMap(filesAt)
  const codes: number[] = []
  for (const file of files) {
    if (files.length > 1) output.info(`${file}:`)
    codes.push(await exitOf(() => (isExport(file) ? checkExport(file, given) : checkText(file, given))))
  }
  return codes.includes(EXIT.check) ? EXIT.check : Math.max(...codes)
}

process.exitCode = await exitOf(run)
