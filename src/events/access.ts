import { Type } from 'typebox'
import { type EventOf, v1 } from './define.ts'
import { list, object, oneOf, text, truth, word } from './fields.ts'
import { grants, meanings } from './grants.ts'

const open = (group: string) => truth(`Whether nobody needs a credential for \`${group}\`.`)
const names = (description: string, unit: string) =>
  Type.Optional(Type.Immutable(list(description, text('One.', unit))))

/** Who may do what by the configuration. One stream for the whole history: access-main. */
export const accessEvents = {
  AccessConfigured: v1(
    object(
      'An instance began with another configuration of access than the last one that is told here. Its revision is the `policy` of tokens that are issued under it.',
      {
        version: word('The version of the software.', 'Semantic Versioning'),
        required: truth('Whether anybody needs a credential at all.'),
        exclude: object('What needs no credential all the same.', {
          management: open('/api/v1'),
          evaluation: open('/evaluate/v1'),
          ofrep: open('/ofrep'),
        }),
        requireRole: truth('Whether a static token must be given a role or grants.'),
        roles: meanings('What roles mean, built-in ones and those of the configuration.'),
        rules: Type.Immutable(
          list(
            'What logins and exchanges are granted; none, and no `unmatched`: they may do everything.',
            object('A rule.', {
              name: word('Its name.', 'name of a rule'),
              method: oneOf('Of which logins or exchanges.', ['oidc', 'codehost', 'orchestrator']),
              provider: Type.Optional(word('The provider.', 'name of a provider in the configuration')),
              claim: Type.Optional(word('The claim that is looked at.', 'name of a claim, or JSON Pointer')),
              anyOf: names(
                'The values that match. Of the claims `email`, `sub`, `name` and `preferred_username` they are pseudonyms: `claim-`, of `sub` `sub-`, and 22 characters.',
                'value of a claim, or pseudonym',
              ),
              organizations: names('The organizations whose members match.', 'organization at the code host'),
              teams: names('The teams whose members match.', '`<organization>/<team>`'),
              namespaces: names('The namespaces of the service accounts that match.', 'namespace, or `*` for any'),
              serviceAccounts: names('The service accounts that match.', 'name, or `*` for any'),
              grants: grants('What it grants. `{namespace}` as a place is the namespace of the service account.'),
            }),
          ),
        ),
        unmatched: Type.Optional(
          grants(
            'What they are granted whom no rule matches; empty: nothing, though there be no rule. Absent: nothing once there is a rule, and everything where there is none.',
          ),
        ),
        assumeVerified: names(
          'The providers whose e-mail addresses count as verified where they say nothing of it.',
          'name of a provider in the configuration',
        ),
      },
    ),
    2,
  ),
}

export type AccessEvent = EventOf<typeof accessEvents>
