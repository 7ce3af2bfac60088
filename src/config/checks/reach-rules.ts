import { X509Certificate } from 'node:crypto'
import { isGoverned, type RuledMethod } from '../../access/rules.ts'
import { plainHttp, wrongWithProxy } from '../../auth/outgoing/hosts.ts'
import { bytesNow, whyUnread } from '../../base/regular-file.ts'
import type { Method } from '../../events/token.ts'
import type { Finding } from '../problem.ts'
import { didYouMean } from '../problem.ts'
import type { Config } from '../settings.ts'

const base = 'authentication.methods'
const BEGIN = '-----BEGIN CERTIFICATE-----'

const isWhole = (certificate: string): boolean => {
  try {
    return new X509Certificate(certificate).raw.length > 0
  } catch {
    return false
  }
}

/** Problem of a certificate file; false if the file is valid. */
const wrongWithCertificates = (path: string): string | false => {
  const file = `the file ${path}`
  let content: string
  try {
    content = bytesNow(path).toString()
  } catch (error) {
    return `${file} cannot be read (${whyUnread(error)})`
  }
  const found = content.split(BEGIN).slice(1)
  const broken = found.findIndex((rest) => !isWhole(BEGIN + rest))
  if (broken >= 0) return `${file} contains an invalid certificate: number ${broken + 1} of ${found.length}`
  return found.length === 0 && `${file} contains no certificate (PEM)`
}

/** Returns true if both URLs have the same origin; then a problem is reported only once. */
const isAt = (one = '', other = ''): boolean =>
  URL.canParse(one) && URL.canParse(other) && new URL(one).origin === new URL(other).origin

/** Problems of the connections to providers, the code host, the cluster and witnesses. */
export const reachErrors = ({ outgoing, authentication: { methods }, history }: Config): readonly Finding[] => {
  const mayBeHttp = plainHttp(outgoing.http_hosts)
  const safe = (key: string, address: string | undefined): Finding => {
    const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined
    const isOpen = url?.protocol === 'http:' && !mayBeHttp(url)
    return [key, isOpen && 'must be https; http is allowed only for loopback and outgoing.http_hosts']
  }
  const authority = (key: string, path: string | undefined): Finding => [
    `${key}.ca_path`,
    path !== undefined && wrongWithCertificates(path),
  ]
  const { oidc, codehost, orchestrator } = methods
  const byMethod: Readonly<Record<RuledMethod, readonly Finding[]>> = {
    oidc: Array.from(oidc.providers).flatMap(([name, provider]) => {
      const at = `${base}.oidc.providers.${name}`
      return [
        safe(`${at}.issuer_url`, provider.issuer_url),
        safe(`${at}.discovery_url`, provider.discovery_url),
        authority(at, oidc.enabled ? provider.ca_path : undefined),
      ]
    }),
    codehost: codehost.enabled
      ? [
          safe(`${base}.codehost.server_url`, codehost.server_url),
          ...(isAt(codehost.server_url, codehost.api_url) ? [] : [safe(`${base}.codehost.api_url`, codehost.api_url)]),
          authority(`${base}.codehost`, codehost.ca_path),
        ]
      : [],
    orchestrator: [
      safe(`${base}.orchestrator.discovery_url`, orchestrator.discovery_url),
      authority(
        `${base}.orchestrator`,
        orchestrator.enabled && /^https:/i.test(orchestrator.discovery_url) ? orchestrator.ca_path : undefined,
      ),
    ],
  }
  const isUsed =
    history.ledger.witnesses.length > 0 ||
    (Object.keys(byMethod) as readonly RuledMethod[]).some((method) => methods[method].enabled)
  return [
    ...(['https_proxy', 'http_proxy'] as const).map((key): Finding => {
      const given = outgoing[key]
      return [`outgoing.${key}`, isUsed && given !== undefined && wrongWithProxy(given)]
    }),
    ...Object.values(byMethod).flat(),
  ]
}

/** A kind of open access: its word in `open_on_purpose`, its state, and the warning. */
type OpenAccessWarning = { readonly word: string; readonly open: boolean; readonly sentence: string }

/** Open access of each login method. */
const ofMethods = ({
  authentication: {
    methods: { oidc, codehost, orchestrator },
  },
  authorization,
}: Config): Readonly<Record<Method, readonly OpenAccessWarning[]>> => ({
  token: [],
  oidc: Array.from(oidc.providers.keys(), (name) => ({
    word: `oidc.${name}`,
    open: oidc.enabled && oidc.email_matches.length === 0,
    sentence: `${base}.oidc.email_matches is empty, so every account of the provider ${name} can log in`,
  })),
  codehost: [
    {
      word: 'codehost',
      open: codehost.enabled && codehost.allowed_organizations.length === 0,
      sentence: `${base}.codehost.allowed_organizations is empty, so every account of the code host can log in`,
    },
  ],
  orchestrator: [
    {
      word: 'orchestrator',
      open: orchestrator.enabled && orchestrator.allowed.length === 0,
      sentence: `${base}.orchestrator.allowed is empty, so every service account of the cluster gets a token ${isGoverned(authorization) ? 'with the grants of authorization.rules' : 'with full access'}`,
    },
  ],
})

/** All kinds of open access that are possible in this configuration. */
const named = (config: Config): readonly OpenAccessWarning[] => {
  const { required, exclude } = config.authentication
  return [
    {
      word: 'required',
      open: !required,
      sentence: 'authentication.required is false, so no request needs a credential, not even to create tokens',
    },
    ...(['management', 'evaluation', 'ofrep'] as const).map((group) => ({
      word: `exclude.${group}`,
      open: required && exclude[group],
      sentence: `authentication.exclude.${group} is true, so requests of that group need no credential`,
    })),
    ...Object.values(ofMethods(config)).flat(),
    // Forwarded headers are detected only at run time.
    { word: 'forwarded', open: false, sentence: '' },
  ]
}

/** Problem of the words in `authentication.open_on_purpose`, or false. */
export const unknownWarnings = (config: Config): string | false => {
  const known = named(config).map(({ word }) => word)
  const unknown = config.authentication.open_on_purpose.filter((word) => !known.includes(word))
  return (
    unknown.length > 0 &&
    unknown.map((word) => `"${word}" is not open access of this configuration${didYouMean(word, known)}`).join(', ')
  )
}

/**
 * Log messages about open access: a warning for each kind that `open_on_purpose` does not list, a note for the others.
 */
export const openAccessWarnings = (
  config: Config,
): { readonly warnings: readonly string[]; readonly meant: readonly string[] } => {
  const isMeant = ({ word }: OpenAccessWarning) => config.authentication.open_on_purpose.includes(word)
  const doors = named(config).filter(({ open }) => open)
  return {
    warnings: doors
      .filter((door) => !isMeant(door))
      .map(
        ({ word, sentence }) => `${sentence}; if this is intentional, add ${word} to authentication.open_on_purpose`,
      ),
    meant: doors
      .filter(isMeant)
      .map(({ word, sentence }) => `${sentence}, as listed in authentication.open_on_purpose (${word})`),
  }
}
