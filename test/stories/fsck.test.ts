import { spawn } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { HASH_BYTES } from '../../src/verifier/hashes.ts'
import { checkpointBody } from '../../src/verifier/note/checkpoint.ts'
import { signerOf, signNote } from '../../src/verifier/note/signatures.ts'
import { tilePath, tileWidth } from '../../src/verifier/tiles.ts'
import { compactRange } from '../../src/verifier/tree.ts'
import { failureOf } from '../stand-ins/built-program.ts'
import { type Started, startService } from '../start.ts'
import { fsck } from '../verifier/fsck.ts'

/** Sizes at the edges of a tile; a larger one by `ROLLCALL_TEST_FSCK_SIZE` (65,537 has a second tile of level 1). */
const LARGE = Number(process.env['ROLLCALL_TEST_FSCK_SIZE'] ?? 0)
const SIZES = [1, 255, 256, 257, ...(LARGE > 0 ? [LARGE] : [])]
const LEDGER = '/audit/v1/ledger'
const FLAG = '/api/v1/namespaces/default/flags'
/** Maximum members of one request for several changes (api.md §7.9). */
const CHANGES = 200
const WRITERS = 16

const program = await fsck().catch(failureOf)
const skip = program.startsWith('/') ? false : `needs fsck of the tessera project, which Go builds: ${program}`

type Checkpoint = { readonly size: number; readonly text: string }
const sealed = async (service: Started) => (await service.request<Checkpoint>('POST', `${LEDGER}/checkpoint`)).json

/** Adds events until a checkpoint covers this number. */
const grow = async (service: Started, size: number): Promise<Checkpoint> => {
  await service.request('POST', FLAG, { key: 'f', name: 'f', type: 'BOOLEAN_FLAG_TYPE' })
  for (let checkpoint = await sealed(service); ; checkpoint = await sealed(service)) {
    const missing = size - checkpoint.size
    if (missing <= 0) return checkpoint
    for (let n = 0; n < missing; n += CHANGES) {
      const changes = Array.from({ length: CHANGES }, (_, m) => ({ op: 'flag.update', enabled: m % 2 === 0 }))
      await service.request('POST', `${FLAG}/f/changes`, { changes })
    }
  }
}

/** Runs a check while 16 writers append events, and seals while it runs. */
const whileWriting = async (service: Started, check: () => Promise<string>): Promise<string> => {
  const over = new AbortController()
  const write = async (n: number) => {
    for (let enabled = false; !over.signal.aborted; enabled = !enabled) {
      await service.request('PUT', `${FLAG}/w${n}`, { name: 'w', enabled })
      if (n === 0) await sealed(service)
    }
  }
  const key = (n: number) => ({ key: `w${n}`, name: 'w', type: 'BOOLEAN_FLAG_TYPE' })
  for (let n = 0; n < WRITERS; n++) await service.request('POST', FLAG, key(n))
  const writers = Array.from({ length: WRITERS }, (_, n) => write(n))
  const text = await check()
  over.abort()
  await Promise.all(writers)
  return text
}

/** A server in front of a service. `answer` replaces the answer to a path of the ledger. */
const inFront = async (
  t: Parameters<typeof startService>[0],
  service: Started,
  answer: (path: string, body: Buffer) => string | Buffer,
) => {
  const server = createServer((request, response) => {
    const { url = '', headers } = request
    void fetch(service.url + url, { headers: { authorization: headers.authorization ?? '' } }).then(async (given) => {
      const body = Buffer.from(await given.arrayBuffer())
      response.writeHead(given.status).end(given.ok ? answer(url.slice(LEDGER.length + 1), body) : body)
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

await t.test('fsck of the tessera project checks a running service', { skip }, async (t) => {
  const folder = t.testdir()
  const [keyFile, vkeyFile] = [join(folder, 'key.pem'), join(folder, 'vkey')]
  const service = await startService(t, { 'history.ledger.key_file': keyFile, 'history.ledger.seal_interval': '1h' })
  const status = await service.request<{ origin: string; keys: { vkey: string }[] }>('GET', LEDGER)
  const { origin, keys } = status.json
  await writeFile(vkeyFile, keys[0]!.vkey)
  const { size: whole } = await grow(service, Math.max(...SIZES))
  const check = (address: string) =>
    new Promise<string>((ended, failed) => {
      const flags = [`--storage_url=${address}${LEDGER}/`, `--public_key=${vkeyFile}`, '--ui=false', '--logtostderr']
      const child = spawn(program, [...flags, `--bearer_token=${service.token}`], {
        cwd: tmpdir(),
      })
      let text = ''
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      child.on('error', failed).on('close', () => ended(text))
    })
  const success = (size: number) => new RegExp(`Successfully fsck'd log with size ${size} `)
  t.match(await check(service.url), success(whole))
  t.match(await whileWriting(service, () => check(service.url)), /Successfully fsck'd log with size /)

  // Every size is signed here with the key of the service, over the hashes that the service has.
  const signer = signerOf(origin, createPrivateKey(await readFile(keyFile)))
  const range = compactRange()
  const checkpoints = new Map<number, string>()
  for (let index = 0; range.size < Math.max(...SIZES); index++) {
    const address = { level: 0, index }
    const path = tilePath({ ...address, width: tileWidth(whole, address) })
    const authorization = `Bearer ${service.token}`
    const tile = Buffer.from(
      await (await fetch(`${service.url}${LEDGER}/${path}`, { headers: { authorization } })).arrayBuffer(),
    )
    for (let at = 0; at < tile.length; at += HASH_BYTES) {
      range.append(tile.subarray(at, at + HASH_BYTES))
      const { size } = range
      if (SIZES.includes(size))
        checkpoints.set(size, signNote(checkpointBody({ origin, size, root: range.root() }), [signer]))
    }
  }
  for (const size of SIZES) {
    const address = await inFront(t, service, (path, body) => (path === 'checkpoint' ? checkpoints.get(size)! : body))
    t.match(await check(address), success(size))
  }

  // With more than one tile, fsck does not end after an error.
  for (const part of ['tile/entries/', 'tile/0/']) {
    const address = await inFront(t, service, (path, body) => {
      if (path.startsWith(part)) body[body.length - 1]! ^= 1
      return path === 'checkpoint' ? checkpoints.get(1)! : body
    })
    t.match(await check(address), /fsck failed/, `${part} with a changed byte`)
  }
})
