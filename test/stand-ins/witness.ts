import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/**
 * A witness (C2SP tlog-witness, tlog-cosignature, signed-note), written from these texts without code of src. It keeps
 * the newest checkpoint of each origin and verifies consistency proofs by RFC 9162 §2.1.4.2.
 */
const sha256 = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const inner = (left: Uint8Array, right: Uint8Array) => sha256(Uint8Array.of(1), left, right)

const isConsistent = (first: bigint, second: bigint, from: Buffer, to: Buffer, proof: readonly Buffer[]): boolean => {
  if (first === second) return proof.length === 0 && from.equals(to)
  if (first === 0n) return proof.length === 0
  if (proof.length === 0) return false
  const path = [...((first & (first - 1n)) === 0n ? [from] : []), ...proof]
  let [fn, sn] = [first - 1n, second - 1n]
  while (fn & 1n) [fn, sn] = [fn >> 1n, sn >> 1n]
  let [fr, sr] = [path[0]!, path[0]!]
  for (const c of path.slice(1)) {
    if (sn === 0n) return false
    if (fn & 1n || fn === sn) {
      ;[fr, sr] = [inner(c, fr), inner(c, sr)]
      while (fn !== 0n && !(fn & 1n)) [fn, sn] = [fn >> 1n, sn >> 1n]
    } else sr = inner(sr, c)
    ;[fn, sn] = [fn >> 1n, sn >> 1n]
  }
  return fr.equals(from) && sr.equals(to) && sn === 0n
}

const rawOf = (key: KeyObject) => Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url')
const idOf = (name: string, type: number, raw: Buffer) =>
  sha256(Buffer.from(`${name}\n`), Uint8Array.of(type), raw).subarray(0, 4)

/** Verifier key of a name, with the signature type 1 (note) or 4 (cosignature). */
export const vkeyOfWitness = (name: string, privateKey: KeyObject, type: 1 | 4): string => {
  const raw = rawOf(createPublicKey(privateKey))
  return `${name}+${idOf(name, type, raw).toString('hex')}+${Buffer.concat([Uint8Array.of(type), raw]).toString('base64')}`
}

/** Line with the cosignature of a checkpoint at a time in seconds. */
export const cosign = (name: string, privateKey: KeyObject, body: string, seconds: number): string => {
  const message = Buffer.from(`cosignature/v1\ntime ${seconds}\n${body}`)
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(seconds))
  const id = idOf(name, 4, rawOf(createPublicKey(privateKey)))
  return `— ${name} ${Buffer.concat([id, time, sign(null, message, privateKey)]).toString('base64')}\n`
}

export type WitnessRequest = { readonly method: string; readonly path: string; readonly body: string }
export type WitnessAnswer = { readonly status: number; readonly contentType: string; readonly text: string }
type Known = { readonly size: bigint; readonly root: Buffer; readonly text: string }

const plain = (status: number, text = ''): WitnessAnswer => ({ status, contentType: 'text/plain; charset=utf-8', text })

/** A witness of logs by their public keys. `now`: its clock. */
export const witness = (name: string, privateKey: KeyObject, now: () => Date) => {
  const trusted = new Map<string, KeyObject>()
  const known = new Map<string, Known>()
  const requests: WitnessRequest[] = []

  const isSigned = (origin: string, body: string, lines: string): boolean => {
    const key = trusted.get(origin)!
    const id = idOf(origin, 1, rawOf(key))
    return lines.split('\n').some((line) => {
      const [, who, text = ''] = line.split(' ')
      const bytes = Buffer.from(text, 'base64')
      const isOfKey = who === origin && bytes.subarray(0, 4).equals(id)
      return isOfKey && verify(null, Buffer.from(body), key, bytes.subarray(4))
    })
  }

  const add = (body: string): WitnessAnswer => {
    const end = body.indexOf('\n\n')
    const [oldLine = '', ...proofLines] = body.slice(0, end).split('\n')
    const old = /^old (0|[1-9]\d*)$/.exec(oldLine)?.[1]
    const text = body.slice(end + 2)
    const note = text.slice(0, text.indexOf('\n\n') + 1)
    const [origin = '', sizeText = '', rootText = '', ...rest] = note.split('\n')
    if (old === undefined || proofLines.length > 63 || rest.length !== 1) return plain(400)
    if (!trusted.has(origin)) return plain(404)
    if (!isSigned(origin, note, text.slice(note.length + 1))) return plain(403)
    const [from, size, root] = [BigInt(old), BigInt(sizeText), Buffer.from(rootText, 'base64')]
    if (from > size) return plain(400)
    const before = known.get(origin) ?? { size: 0n, root: sha256(), text: '' }
    if (before.size !== from) return { status: 409, contentType: 'text/x.tlog.size', text: `${before.size}\n` }
    if (from === size && !before.root.equals(root) && size > 0n) return plain(409)
    const proof = proofLines.map((line) => Buffer.from(line, 'base64'))
    if (!isConsistent(from, size, before.root, root, proof)) return plain(422)
    const line = cosign(name, privateKey, note, Math.floor(now().getTime() / 1000))
    known.set(origin, { size, root, text: text + line })
    return plain(200, line)
  }

  const handle = (request: WitnessRequest): WitnessAnswer => {
    requests.push(request)
    if (request.method === 'POST' && request.path === '/add-checkpoint') return add(request.body)
    for (const [origin, { text }] of known)
      if (request.path === `/${sha256(Buffer.from(origin)).toString('hex')}/checkpoint`) return plain(200, text)
    return plain(404)
  }
  return { name, vkey: vkeyOfWitness(name, privateKey, 4), trusted, known, requests, handle }
}
