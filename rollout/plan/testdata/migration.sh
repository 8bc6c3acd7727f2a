#!/bin/sh
# Replaces Deployment web by Rollout web in namespace shop.
# The old pods stay until the new ones are ready.
# Read it, then run it: sh FILE. After a stop, fix the cause and run it again.
# To undo it after the last step: make a plan by plan.Rollback and run it.
# To undo it before the last step, while deployment/web has enough pods:
#   kubectl --namespace=shop delete rollout/web
set -eu

kube() { kubectl --namespace=shop "$@"; }
# get prints fields of an object, and nothing if there is no such object.
get() { kube get "$1" --ignore-not-found --request-timeout=30s -o jsonpath="$2"; }
stop() { printf 'STOP: %s\n' "$1" >&2; exit 1; }
nl='
'

# check stops if an object is not as planned. It may be gone if the other workload exists.
check() { # object, fields, planned, checksum of the pod template, the other workload, what to do about it
  all=$(get "$1" "$2"'{"\n"}{.spec.template}')
  is=${all%%"$nl"*}
  if [ -z "$all" ] && [ -n "$5" ]; then
    other=$(get "$5" '{.metadata.uid}')
    [ -z "$other" ] || return 0
  fi
  [ "$is" = "$3" ] || stop "$1 is not as planned. $6
planned: $3
now: ${is:-gone}"
  [ -z "$4" ] || [ "$(printf %s "${all#*"$nl"}" | cksum)" = "$4" ] ||
    stop "$1 is not as planned: its pod template has changed. $6"
}

# ready waits until a workload has as many available pods as it should have, or as the other
# one should have, whichever is less. An autoscaler scales one of the two meanwhile.
ready() { # workload, the other workload, seconds, fields, what they become, whether to grow
  end=$(($(date +%s) + $3))
  until other=$(get "$2" '{.metadata.uid}/{.spec.replicas}') &&
    is=$(get "$1" "$4/{.spec.replicas}/{.status.availableReplicas}") &&
    enough "$1" "$is" "$other" "$5" "$6"; do
    [ "$(date +%s)" -lt "$end" ] || stop "$1 does not have its pods after $3 seconds: $is
$(get "$1" '{range .status.conditions[*]}{.type} {.status} {.reason}: {.message}{"\n"}{end}')"
    sleep 1
  done
}
enough() { # workload, what it is, what the other one is, what its fields become, whether to grow
  [ -n "$3" ] || return 0 # nothing is left to delete
  [ -n "$2" ] || return 1
  pods=${2#*/}
  available=${pods#*/}
  want=${pods%/*}
  want=${want:-1}
  old=${3#*/}
  old=${old:-1}
  if [ "$5" = true ] && [ "$want" -lt "$old" ]; then
    kube patch "$1" --type=merge -p '{"spec":{"replicas":'"$old"'}}'
    return 1
  fi
  [ "$want" -le "$old" ] || want=$old
  [ "${2%%/*}" = "$4" ] && [ "${available:-0}" -ge "$want" ]
}

cat >&2 <<'EOF'
WARNING: Suspend what applies this workload while the plan runs, such as Argo CD, Flux, Helm, a
  pipeline or an operator: it would put back what the plan removes.
EOF

echo '1/8 Check that Deployment web has not changed, or was replaced by an earlier run'
check deployment/web 'uid {.metadata.uid}' \
  'uid u' '1838992453 167' rollout/web \
  'Find out who changed it, and make a new plan.'

echo '2/8 Check that Rollout web does not exist, or is of this plan'
check rollout/web 'plan {.metadata.annotations.rollout\.controllerkit\.dev/plan}' \
  'plan cba13fd2b52aa380' '' deployment/web \
  'Another plan or a person has made it. Only if deployment/web has all its pods: delete it, and run this again.'

echo '3/8 Check that this plan knows each HorizontalPodAutoscaler of it'
check hpa '{range .items[?(@.spec.scaleTargetRef.name=="web")]}{.metadata.name} {end}' \
  '' '' '' \
  'Make a new plan with all HorizontalPodAutoscalers of the namespace.'

echo '4/8 Create Rollout web with as many replicas as Deployment web had'
is=$(get rollout/web '{.metadata.uid}')
[ -n "$is" ] || kube apply --server-side --validate=strict --field-manager=gitops -f - <<'EOF'
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata:
  annotations:
    rollout.controllerkit.dev/plan: cba13fd2b52aa380
  name: web
  namespace: shop
spec:
  replicas: 5
  selector:
    matchLabels:
      app: web
  strategy:
    canary:
      maxSurge: 1
      maxUnavailable: 0
      steps:
      - setWeight: 20
      - pause: {}
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - image: web:1
        name: web
        resources: {}
EOF

echo '5/8 Leave the replicas to the next writer: a manifest, an autoscaler or a person'
is=$(get rollout/web '{.metadata.managedFields[0].manager} {.metadata.managedFields[0].fieldsV1.f:spec.f:replicas}')
if [ "$is" = 'gitops {}' ]; then
  kube patch rollout/web --type=json \
    -p '[{"op":"test","path":"/metadata/managedFields/0/manager","value":"gitops"},{"op":"remove","path":"/metadata/managedFields/0/fieldsV1/f:spec/f:replicas"}]' || {
    is=$(get rollout/web '{.metadata.managedFields[0].manager} {.metadata.managedFields[0].fieldsV1.f:spec.f:replicas}') && [ "$is" != 'gitops {}' ] # another run has done it
  }
fi

echo '6/8 Wait until Rollout web has its pods, and scale it up if Deployment web is'
ready rollout/web deployment/web 600 \
  '{.status.conditions[?(@.type=="Completed")].status}' True true

echo '7/8 Check again, because the next step takes pods away'
check deployment/web 'uid {.metadata.uid}' \
  'uid u' '1838992453 167' rollout/web \
  'Find out who changed it, and make a new plan.'

echo '8/8 Delete Deployment web and its pods'
kube delete deployment/web --ignore-not-found --timeout=600s
echo Done
