import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { parquetLines } from '../../src/cli/history/parquet.ts'
import type { Stored } from '../../src/events/log.ts'
import { entryOf } from '../../src/verifier/entry.ts'
import type { ReadLine } from '../../src/verifier/export/read-line.ts'
import { leafOf } from '../../src/verifier/hashes.ts'
import { base64Of } from '../../src/verifier/platform.ts'
import { VKEY } from './ledger-server.ts'
import { madeExport } from './made-export.ts'
import { rollcall } from './service.ts'

const META = '{"actor":{"kind":"token"},"command":"CreateFlag","instance":"i"}'
const recordAt = (index: number, data = `{"key":"f${index}","namespace":"default"}`): Stored => ({
  id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  stream: `flag-default+f${index}`,
  revision: 0n,
  position: BigInt(index + 1),
  type: index % 3 === 0 ? 'FlagUpdated.v2' : 'FlagCreated',
  time: new Date(Date.UTC(2026, 10, 3, 13, 2, 11, 250) + index).toISOString(),
  data,
  meta: META,
})
/** Texts that a reader could change: formulas, spaces, a byte order mark, escapes, characters beyond the first plane. */
const HARD = ['=1+1', ' " \\ / \u007f ', '\uFEFFx', '\\u0000', 'Größe 𝄞 漢', '', '\r\n,', "'"]
const records = [
  ...HARD.map((text, n) => recordAt(n, JSON.stringify({ description: text, key: `f${n}`, namespace: 'default' }))),
  recordAt(HARD.length, 'no JSON {'),
  ...Array.from({ length: 40 }, (_, n) => recordAt(HARD.length + 1 + n)),
]

const queried = async (t: Test) => {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  t.teardown(() => {
    connection.closeSync()
    instance.closeSync()
  })
  return async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson()
}

const linesOf = async (path: string): Promise<readonly (ReadLine | undefined)[]> => {
  const lines: (ReadLine | undefined)[] = []
  for await (const found of parquetLines(path, { sha256: '', bytes: 0 })) lines.push(...found.lines)
  return lines
}

await t.test('DuckDB reads every row with the types and stored texts of the events', async (t) => {
  const { out } = await madeExport(records, t.testdir(), { format: 'parquet' })
  const query = await queried(t)
  const rows = await query(`SELECT *, sha256(data) AS data_hash, sha256(meta) AS meta_hash FROM read_parquet('${out}')`)
  t.equal(rows.length, records.length)
  for (const [n, record] of records.entries()) {
    const entry = JSON.parse(entryOf(record)) as { data: string; meta: string }
    const isJson = record.data.startsWith('{')
    const data = isJson ? record.data : JSON.stringify(record.data)
    t.match(rows[n], { index: String(n), position: String(n + 1), id: record.id, data, meta: META })
    t.match(rows[n], { meta_hash: entry.meta, revision: '0', subject: null, reason: null })
    t.equal(rows[n]!['data_hash'] === entry.data, isJson)
  }
  const [types] = await query(
    `SELECT typeof(index) i, typeof(time) t, typeof(version) v, typeof(data) d, typeof(meta) m, typeof(namespace) n,
     epoch_ms(min(time)) AS "first" FROM read_parquet('${out}') GROUP BY ALL LIMIT 1`,
  )
  t.strictSame(types, {
    i: 'BIGINT',
    t: 'TIMESTAMP WITH TIME ZONE',
    v: 'INTEGER',
    d: 'JSON',
    m: 'JSON',
    n: 'VARCHAR',
    first: String(Date.parse(records[0]!.time)),
  })
  const [file] = await query(`SELECT created_by FROM parquet_file_metadata('${out}')`)
  t.strictSame(file, { created_by: 'rollcall' })
  const [pair] = await query(`SELECT key::VARCHAR k, value::VARCHAR v FROM parquet_kv_metadata('${out}')`)
  t.strictSame(pair, { k: 'rollcall.schema', v: 'rollcall.events/v1' })
  const required = await query(
    `SELECT name FROM parquet_schema('${out}') WHERE repetition_type = 'REQUIRED' AND type IS NOT NULL`,
  )
  t.equal(
    required.map(({ name }) => name as string).join(' '),
    'index position time type version category stream revision id outcome command actor_kind instance data meta',
  )
})

await t.test('DuckDB reads the same events from Parquet, NDJSON and CSV', async (t) => {
  const query = await queried(t)
  const [parquet, ndjson, csv] = [t.testdir({ parquet: {}, ndjson: {}, csv: {} })].flatMap((folder) =>
    ['parquet', 'ndjson', 'csv'].map((name) => join(folder, name)),
  ) as [string, string, string]
  const plain = records.filter(({ data }) => data.startsWith('{'))
  for (const [folder, format] of [[parquet, 'parquet'] as const, [ndjson, 'ndjson'] as const, [csv, 'csv'] as const])
    await madeExport(plain, folder, { format })
  const rowsOf = (source: string, columns: string) =>
    query(`SELECT index::BIGINT i, id::VARCHAR id, ${columns} FROM ${source} ORDER BY i`)
  const ofParquet = (columns: string) => rowsOf(`read_parquet('${parquet}/out')`, columns)
  t.equal((await ofParquet('stream')).length, plain.length)
  const csvRows = await rowsOf(
    `read_csv('${csv}/out', all_varchar = true)`,
    'stream, category, outcome, data::VARCHAR d',
  )
  t.strictSame(csvRows, await ofParquet('stream, category, outcome, data::VARCHAR d'))
  t.strictSame(await rowsOf(`read_json('${ndjson}/out')`, 'stream'), await ofParquet('stream'))
})

await t.test('a group of rows ends after 10,000 events or 16 MiB of stored texts', async (t) => {
  const query = await queried(t)
  const groupsOf = async (all: readonly Stored[]) => {
    const { out } = await madeExport(all, t.testdir(), { format: 'parquet' })
    const groups = await query(
      `SELECT DISTINCT row_group_id g, row_group_num_rows n FROM parquet_metadata('${out}') ORDER BY g`,
    )
    t.match(await rollcall(['events', 'verify', out, '--vkey', VKEY]), { exit: 0, err: '' }, 'it verifies')
    return groups.map(({ n }) => Number(n))
  }
  t.strictSame(await groupsOf(Array.from({ length: 10_001 }, (_, n) => recordAt(n))), [10_000, 1])
  const large = JSON.stringify({ description: 'x'.repeat(8_388_608) })
  t.strictSame(await groupsOf(Array.from({ length: 3 }, (_, n) => recordAt(n, large))), [2, 1])
})

await t.test('a file of no event has the columns, and it verifies', async (t) => {
  const { out } = await madeExport(records, t.testdir(), {
    format: 'parquet',
    selection: { filter: { type: 'TokenIssued' }, bounds: {}, personal: 'sealed' },
  })
  const query = await queried(t)
  t.strictSame(await query(`SELECT count(*)::INTEGER n, count(data)::INTEGER d FROM read_parquet('${out}')`), [
    { n: 0, d: 0 },
  ])
  t.match(await rollcall(['events', 'verify', out, '--vkey', VKEY]), { exit: 0, err: '' })
})

await t.test('a file with damaged bytes is read without an error, and damaged rows are found', async (t) => {
  const { out } = await madeExport(records, t.testdir(), { format: 'parquet' })
  const whole = readFileSync(out)
  const leaves = new Map(records.map((record, n) => [n, base64Of(leafOf(entryOf(record)))]))
  let found = 0
  for (let at = 0; at < whole.length; at += 7) {
    const damaged = Buffer.from(whole)
    damaged[at]! ^= 1 << (at % 8)
    writeFileSync(out, damaged)
    const lines = await linesOf(out)
    const isWhole =
      lines.length === records.length &&
      lines.every((line) => line?.isExact && base64Of(line.leaf) === leaves.get(line.index))
    if (!isWhole) found++
  }
  t.ok(found > whole.length / 7 / 3, `${found} of ${Math.ceil(whole.length / 7)}`)
  for (const cut of [0, 3, 8, 100, whole.length - 1]) {
    writeFileSync(out, whole.subarray(0, cut))
    t.strictSame(await linesOf(out), [undefined], `${cut} bytes`)
  }
  const shown = await rollcall(['events', 'verify', out, '--vkey', VKEY])
  t.match(shown, { exit: 3, out: /out: wrong file hash/ })
})

const python = promisify(execFile)
const skip = await python('python3', ['-c', 'import pyarrow']).then(
  () => false as const,
  () => 'needs pyarrow for python3 (pip install pyarrow)',
)
await t.test('pyarrow reads the same events', { skip }, async (t) => {
  const { out } = await madeExport(records, t.testdir(), { format: 'parquet' })
  const code = `import sys, json, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1])
print(json.dumps({"rows": table.num_rows, "time": str(table.schema.field("time").type), "data": table.column("data").to_pylist()}))`
  const { stdout } = await python('python3', ['-c', code, out])
  t.strictSame(JSON.parse(stdout), {
    rows: records.length,
    time: 'timestamp[ms, tz=UTC]',
    data: records.map(({ data }) => (data.startsWith('{') ? data : JSON.stringify(data))),
  })
})
