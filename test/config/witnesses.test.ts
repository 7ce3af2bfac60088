import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { isConfigError } from '../../src/config/problem.ts'
import { newSigningKey } from '../../src/ledger/ledger-store.ts'
import { vkeyOfWitness } from '../stand-ins/witness.ts'

const KEY = 'history.ledger.witnesses'
const [one, other] = [newSigningKey(), newSigningKey()]
const vkey = vkeyOfWitness('w.example', one, 4)

const load = (witnesses: unknown, flags = {}) =>
  loadConfig({ env: {}, flags: { ...flags, [KEY]: JSON.stringify(witnesses) } }).config.history.ledger.witnesses
const problems = (witnesses: unknown, flags = {}): readonly string[] => {
  try {
    load(witnesses, flags)
    return []
  } catch (error) {
    if (!isConfigError(error)) throw error
    return error.problems.map(({ key, description }) => `${key} ${description}`)
  }
}

await t.test('witnesses have an address, a verifier key of one of two types, and a monitoring prefix', (t) => {
  t.strictSame(load([]), [])
  const list = [
    { url: 'https://w.example/submit', vkey },
    { url: 'http://127.0.0.1:9/x', vkey: vkeyOfWitness('v.example', other, 1), monitor: 'https://monitor.example' },
  ]
  t.strictSame(load([{ ...list[0], url: 'https://w.example/submit/' }, list[1]]), list)
  t.end()
})

await t.test('a witness that cannot be used refuses the start and names the field', (t) => {
  const at = (n: number, field = '') => `${KEY}[${n}]${field && `.${field}`}`
  const url = 'https://w.example'
  for (const [witnesses, problem] of [
    [[{ vkey }], `${at(0, 'url')} is required`],
    [[{ url }], `${at(0, 'vkey')} is required`],
    [[{ url, vkey, key: '' }], `${at(0, 'key')} is not a setting`],
    [[{ url: 'http://w.example', vkey }], `${at(0, 'url')} must be https; http is allowed only for loopback`],
    [[{ url, vkey, monitor: 'http://10.0.0.1' }], `${at(0, 'monitor')} must be https; http`],
    [[{ url: 'https://name:secret@w.example', vkey }], `${at(0, 'url')} must not contain credentials`],
    [[{ url: 'w.example', vkey }], `${at(0, 'url')} must be an http or https URL`],
    [[{ url, vkey: 'w.example' }], `${at(0, 'vkey')} must be a verifier key`],
    [[{ url, vkey: vkey.replace('w.', 'v.') }], `${at(0, 'vkey')} must be a verifier key`],
    [[{ url, vkey: vkey.replace(/\+B/, '+C') }], `${at(0, 'vkey')} must be a verifier key`],
    [
      [
        { url, vkey },
        { url, vkey: vkeyOfWitness('v.example', other, 4) },
      ],
      `${at(1, 'url')} is the address of another`,
    ],
    [
      [
        { url, vkey },
        { url: 'https://v.example', vkey: vkeyOfWitness('v.example', one, 1) },
      ],
      `${at(1, 'vkey')} is the key of another witness`,
    ],
    [Array.from({ length: 9 }, (_, n) => ({ url: `${url}/${n}`, vkey })), `${KEY} must contain at most 8 elements`],
  ] as const)
    t.match(problems(witnesses), [problem])
  t.match(problems([{ url, vkey }], { 'outgoing.https_proxy': 'a b' }), [/^outgoing.https_proxy must be/])
  t.strictSame(problems([], { 'outgoing.https_proxy': 'a b' }), [])
  t.end()
})
