import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredRecords } from '../../src/app/stores/stored-records.ts'
import { type ExportRequest, runExport } from '../../src/cli/history/export/run.ts'
import { storeSource } from '../../src/cli/history/export/sources.ts'
import type { Stored } from '../../src/events/log.ts'
import { type LeafList, leafList } from '../../src/verifier/check/leaf-list.ts'
import { entryOf } from '../../src/verifier/entry.ts'
import { leafOf } from '../../src/verifier/hashes.ts'
import { ORIGIN, testLedger, VKEY } from './ledger-server.ts'

/** A ledger over records. */
export const ledgerOf = (records: readonly Stored[]) => {
  const ledger = testLedger()
  ledger.fill(records.map((record) => leafOf(entryOf(record))))
  return ledger
}

/** A store with these records and a checkpoint. */
export const storeOf = (records: readonly Stored[], checkpoint: string): StoredRecords => ({
  pages: async function* () {
    for (let n = 0; n < records.length; n += 5) yield records.slice(n, n + 5)
  },
  ledger: async () => ({ origin: ORIGIN, vkeys: [VKEY], checkpoint }),
})

export const PLAIN: ExportRequest = {
  selection: { filter: {}, bounds: {}, personal: 'sealed' },
  format: 'ndjson',
  gzip: false,
  split: {},
  out: '',
  stream: undefined,
  manifest: '',
  proof: '',
  resume: false,
  checkpoint: undefined,
  against: undefined,
}

/** Writes an export of records with their own newest checkpoint into a folder; returns the path of its file. */
export const madeExport = async (records: readonly Stored[], folder: string, asked: Partial<ExportRequest> = {}) => {
  const out = join(folder, 'out')
  await rm(`${out}.proof`, { force: true })
  const checkpoint = await ledgerOf(records).checkpoint()
  const request = { ...PLAIN, out, manifest: `${out}.manifest.json`, proof: `${out}.proof`, ...asked }
  const done = await runExport(
    storeSource(storeOf(records, checkpoint)),
    request,
    () => undefined,
    new AbortController().signal,
  )
  return { out, ...done }
}

export const leavesOf = (records: readonly Stored[]): LeafList => {
  const list = leafList()
  for (const record of records) list.add(leafOf(entryOf(record)))
  return list
}
