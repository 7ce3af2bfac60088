import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import type { Scope } from './listen.ts'

/** A private certificate authority: its certificate in a file, and certificates for host names. */
export const privateAuthority = async (t: Scope) => {
  const folder = await mkdtemp(join(tmpdir(), 'authority-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const name = `authority ${randomUUID()}`
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
  const caPath = join(folder, 'ca.crt')
  await writeFile(caPath, cert)
  /** Certificate of a server with that name. */
  const certificateOf = async (host: string) => {
    const given = await generate([{ name: 'commonName', value: host }], {
      keyType: 'ec',
      algorithm: 'sha256',
      ca: { key, cert },
      extensions: [
        { name: 'basicConstraints', cA: false },
        {
          name: 'subjectAltName',
          altNames: [isIP(host) === 0 ? { type: 2, value: host } : { type: 7, ip: host }],
        },
      ],
    })
    return { name: host, key: given.private, cert: given.cert }
  }
  return { caPath, cert, certificateOf }
}
