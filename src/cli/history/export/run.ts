import { basename } from 'node:path'
import { fail } from '../../../base/failure.ts'
import { insistOnCheckpoint, keysOf, retainedText } from '../../../verifier/check/evidence.ts'
import { type ExportFile, type ExportFormat, type Manifest, manifestText } from '../../../verifier/export/manifest.ts'
import { type Hash, isSameHash } from '../../../verifier/hashes.ts'
import type { VerifiedCheckpoint } from '../../../verifier/note/signatures.ts'
import { vkeyOf } from '../../../verifier/note/vkey.ts'
import { base64Of } from '../../../verifier/platform.ts'
import { coverHashes, selection as emptySelection, type Selection } from '../../../verifier/proof/cover.ts'
import { consistencyProof, type ReadNodes, rootAt, verifyConsistency } from '../../../verifier/proof/proofs.ts'
import type { LedgerNow } from '../../ledger/ledger-client.ts'
import { fileFormatOf } from './file-formats.ts'
import { fileWriter, type PartWriter } from './part-writer.ts'
import { earlierParts, exportParts, type Split } from './parts.ts'
import type { ExportRange, ExportSelection, ExportSource } from './sources.ts'

/** Number of hashes that stand in the manifest itself. */
const IN_MANIFEST = 64

/** Collects the hashes of a cover. They go into the file of the path once there are more than a manifest has. */
const proofFile = (path: string) => {
  let first: string[] = []
  let count = 0
  let file: PartWriter | undefined
  return {
    add: async (hashes: readonly Hash[]): Promise<void> => {
      const texts = hashes.map(base64Of)
      count += texts.length
      if (count <= IN_MANIFEST) return void first.push(...texts)
      file ??= await fileWriter(path, false)
      await file.write([...first, ...texts].map((text) => `${text}\n`).join(''))
      first = []
    },
    end: async (): Promise<Manifest['proof']> => {
      if (file === undefined) return { count, hashes: first }
      const { sha256 } = await file.end()
      return { count, file: basename(path), sha256 }
    },
  }
}

export type ExportRequest = {
  readonly selection: ExportSelection
  readonly format: ExportFormat
  readonly gzip: boolean
  readonly split: Split
  /** Path of the files; undefined writes to `stream`. */
  readonly out: string | undefined
  readonly stream: PartWriter | undefined
  readonly manifest: string | undefined
  readonly proof: string
  readonly resume: boolean
  /** Files with checkpoints: to prove against, and to extend. */
  readonly checkpoint: string | undefined
  readonly against: string | undefined
}

type Sealed = { readonly ledger: LedgerNow; readonly checkpoint: VerifiedCheckpoint }

const sealedBy = async (source: ExportSource, { checkpoint: file }: ExportRequest): Promise<Sealed> => {
  const ledger = await source.ledger()
  const text = file === undefined ? ledger.checkpoint : await retainedText(file)
  const name = file === undefined ? 'The newest checkpoint' : `The checkpoint ${file}`
  return { ledger, checkpoint: insistOnCheckpoint(text, keysOf(ledger.vkeys), name) }
}

/** The keys of a manifest: the current one, and those that signed the checkpoint. */
const keysInForce = ({ ledger: { vkeys }, checkpoint }: Sealed): readonly string[] => {
  const signers = new Set(checkpoint.signatures.map(({ key }) => vkeyOf(key)))
  return vkeys.filter((vkey, n) => n === vkeys.length - 1 || signers.has(vkey))
}

const consistencyWith = async (file: string, { ledger, checkpoint }: Sealed, nodes: ReadNodes) => {
  const from = insistOnCheckpoint(await retainedText(file), keysOf(ledger.vkeys), `The checkpoint ${file}`)
  if (from.size > checkpoint.size)
    fail('check', `The checkpoint ${file} has ${from.size} records, more than the ${checkpoint.size} of the export.`)
  const hashes = from.size === 0 ? [] : await consistencyProof(from.size, checkpoint.size, nodes)
  if (!verifyConsistency(from, checkpoint, hashes))
    fail('check', `The log of the export does not extend the checkpoint ${file} of ${from.size} records.`)
  return { from: { size: from.size, root: base64Of(from.root) }, hashes: hashes.map(base64Of) }
}

const prove = async (
  source: ExportSource,
  request: ExportRequest,
  sealed: Sealed,
  { range, exported, files }: { range: ExportRange; exported: Selection; files: readonly ExportFile[] },
): Promise<void> => {
  const { ledger, checkpoint } = sealed
  const { size, root, text } = checkpoint
  const nodes = await source.nodes(size)
  if (!isSameHash(await rootAt(size, nodes), root))
    fail('check', `The records of the source do not have the root of the checkpoint of ${size} records.`)
  const proof = proofFile(request.proof)
  for await (const hashes of coverHashes(size, exported.runs(), nodes)) await proof.add(hashes)
  const { selection, format, gzip, against } = request
  const manifest: Manifest = {
    schema: 'rollcall.export/v1',
    format,
    gzip,
    personal: selection.personal,
    origin: ledger.origin,
    vkeys: keysInForce(sealed),
    checkpoint: text,
    ...(against !== undefined && { consistency: await consistencyWith(against, sealed, nodes) }),
    filter: selection.filter,
    index: range,
    events: files.reduce((sum, { events }) => sum + events, 0),
    files,
    proof: await proof.end(),
  }
  const file = await fileWriter(request.manifest!, false)
  await file.write(manifestText(manifest))
  await file.end()
}

/**
 * Exports the events of a source with manifest and proof. After an abort (`isStopped`) the unfinished file can be
 * continued. `newer`: number of events that the checkpoint does not cover.
 */
export const runExport = async (
  source: ExportSource,
  request: ExportRequest,
  progress: (done: number, total: number) => void,
  stop: AbortSignal,
) => {
  const { selection, format, out, stream, split, gzip } = request
  const needsLedger = request.manifest !== undefined || format === 'cloudevents' || format === 'ocsf'
  const sealed = needsLedger ? await sealedBy(source, request) : undefined
  const asked = await source.range(selection)
  const to = Math.min(asked.to, sealed?.checkpoint.size ?? Infinity)
  const range = { from: Math.min(asked.from, to), to }
  const exported = emptySelection()
  const fileFormat = await fileFormatOf(format, sealed?.ledger.origin ?? '', selection.personal)
  const output = { out: out ?? '-', split, gzip, fileFormat }
  const earlier = request.resume ? await earlierParts(output, range, exported) : { files: [], size: 0 }
  let count = [...earlier.files, earlier.unfinished].reduce((sum, part) => sum + (part?.events ?? 0), 0)
  const onWritten = (index: number): void => {
    exported.add(index)
    count++
  }
  const parts = exportParts({ ...output, ...(stream && { stream }) }, earlier, onWritten)
  const last = earlier.unfinished?.lastIndex ?? earlier.files.at(-1)?.lastIndex
  const rest = { from: last === undefined ? range.from : last + 1, to }
  const ended = { range, newer: asked.to - to }
  let received = 0
  try {
    for await (const batch of source.events(selection, rest, stop)) {
      for (const event of batch) {
        received++
        const written = parts.add(event)
        if (written) await written
      }
      const last = batch.at(-1)
      if (last) progress(last.index + 1 - range.from, to - range.from)
      if (stop.aborted) break
    }
  } catch (error) {
    await parts.leave()
    if (!stop.aborted) throw error
  }
  if (stop.aborted) {
    await parts.leave()
    return { ...ended, isStopped: true, events: count, files: 0 }
  }
  if (Object.keys(selection.filter).length === 0 && received !== to - rest.from) {
    await parts.leave()
    fail('unavailable', `The source sent ${received} of ${to - rest.from} events.`, 'Repeat the command with --resume.')
  }
  const files = await parts.end()
  if (sealed && request.manifest !== undefined) await prove(source, request, sealed, { range, exported, files })
  return { ...ended, isStopped: false, events: count, files: files.length }
}
