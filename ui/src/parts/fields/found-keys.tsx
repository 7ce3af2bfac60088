import { Combobox } from '@base-ui/react/combobox'
import type { RefObject } from 'react'
import { Safe } from '../feedback/safe.tsx'

/** Result list of a combobox; `none` is its text if there are no results. */
export const FoundKeys = ({
  place,
  none,
  opaque = false,
  nameOf,
}: {
  /** Portal container inside the landmark of its field. */
  readonly place: RefObject<HTMLElement | null>
  readonly none: string
  /** Whether keys are ids that are not shown. */
  readonly opaque?: boolean
  readonly nameOf: (key: string) => string | undefined
}) => (
  <Combobox.Portal container={place}>
    <Combobox.Positioner className="popup-place" positionMethod="fixed" align="start" sideOffset={6}>
      <Combobox.Popup className="popup">
        <Combobox.Empty className="about muted">{none}</Combobox.Empty>
        <Combobox.List>
          {(key: string) => (
            <Combobox.Item key={key} value={key} className="item">
              <span className="found">
                {key !== '' && !opaque && <Safe text={key} />}
                <span className={key === '' || opaque ? undefined : 'muted small'}>
                  <Safe text={nameOf(key) ?? ''} />
                </span>
              </span>
            </Combobox.Item>
          )}
        </Combobox.List>
      </Combobox.Popup>
    </Combobox.Positioner>
  </Combobox.Portal>
)
