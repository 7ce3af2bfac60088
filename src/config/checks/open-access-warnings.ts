import { isGoverned } from '../../access/rules.ts'
import type { Method } from '../../events/token.ts'
import { didYouMean } from '../did-you-mean.ts'
import type { Config } from '../settings.ts'

/** A kind of open access: its word in `open_on_purpose`, its state, and the warning. */
type OpenAccessWarning = { readonly word: string; readonly open: boolean; readonly sentence: string }

const base = 'authentication.methods'

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
