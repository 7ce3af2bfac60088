import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from 'selfsigned'

const { cert } = await generate([{ name: 'commonName', value: 'an authority' }], { keyType: 'ec' })
const folder = mkdtempSync(join(tmpdir(), 'rollcall-test-'))
process.on('exit', () => rmSync(folder, { recursive: true }))

/** PEM file of a certificate authority. */
export const authorityFile = join(folder, 'ca.crt')
writeFileSync(authorityFile, cert)
