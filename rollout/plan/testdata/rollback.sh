#!/bin/sh
# Replaces Rollout web by Deployment web in namespace shop.
# The old pods stay until the new ones are ready.
# Read it, then run it: sh FILE. After a stop, fix the cause and run it again.
# To undo it after the last step: make a plan by plan.Migration and run it.
# To undo it before the last step, while rollout/web has enough pods:
#   kubectl --namespace=shop delete deployment/web
set -eu

kube() { kubectl --namespace=shop "$@"; }
# get prints fields of an object, and nothing if there is no such object.
get() { kube get "$1" --ignore-not-found --request-timeout=30s -o jsonpath="$2"; }
stop() { printf 'STOP: %s\n' "$1" >&2; exit 1; }

# check stops if an object is not as planned. It may be gone if the other one exists.
check() { # object, fields, planned, the other one, what to do about it
  is=$(get "$1" "$2")
  if [ -z "$is" ] && [ -n "$4" ]; then
    other=$(get "$4" '{.metadata.uid}')
    [ -z "$other" ] || return 0
  fi
  [ "$is" = "$3" ] || stop "$1 is not as planned. $5
planned: $3
now: ${is:-gone}"
}

# ready waits until the controller has seen a workload as it is, and its pods are available.
ready() { # workload, pods, seconds, fields, what they become
  end=$(($(date +%s) + $3))
  until is=$(get "$1" "{.metadata.generation}={.status.observedGeneration} $4 {.status.availableReplicas}") &&
    [ "${is% *}" = "${is%%=*}=${is%%=*} $5" ] && [ "0${is##* }" -ge "$2" ]; do
    [ "$(date +%s)" -lt "$end" ] || stop "$1 does not have $2 pods after $3 seconds: $is
$(get "$1" '{range .status.conditions[*]}{.type} {.status} {.reason}: {.message}{"\n"}{end}')"
    sleep 1
  done
}

echo '1/7 Check that Rollout web has not changed, or was replaced by an earlier run'
check rollout/web 'uid {.metadata.uid}, generation {.metadata.generation}, stable {.status.stableRS}, current {.status.currentPodHash}' \
  'uid u, generation 2, stable a, current a' deployment/web \
  'Find out who changed it, and make a new plan.'

echo '2/7 Check that Deployment web does not exist, or is of this plan'
check deployment/web 'selector {.spec.selector}, images {.spec.template.spec.containers[*].image} {.spec.template.spec.initContainers[*].image}' \
  'selector {"matchLabels":{"app":"web"}}, images web:1 ' rollout/web \
  'Only if rollout/web has all its pods and an earlier plan left it: delete it, and run this again.'

echo '3/7 Create Deployment web with as many replicas as run now'
is=$(get deployment/web '{.metadata.uid}')
[ -n "$is" ] || kube apply --server-side --validate=strict --field-manager=gitops -f - <<'EOF'
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 5
  selector:
    matchLabels:
      app: web
  strategy:
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
    type: RollingUpdate
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

echo '4/7 Leave the replicas to the next writer: a manifest, an autoscaler or a person'
is=$(get deployment/web '{.metadata.managedFields[0].manager} {.metadata.managedFields[0].fieldsV1.f:spec.f:replicas}')
[ "$is" != 'gitops {}' ] || kube patch deployment/web --type=json \
  -p '[{"op":"test","path":"/metadata/managedFields/0/manager","value":"gitops"},{"op":"remove","path":"/metadata/managedFields/0/fieldsV1/f:spec/f:replicas"}]'

echo '5/7 Wait until Deployment web has its pods'
ready deployment/web 5 600 '' ''

echo '6/7 Check again, because the next step takes pods away'
check rollout/web 'uid {.metadata.uid}, generation {.metadata.generation}, stable {.status.stableRS}, current {.status.currentPodHash}' \
  'uid u, generation 2, stable a, current a' deployment/web \
  'Find out who changed it, and make a new plan.'

echo '7/7 Delete Rollout web and its pods'
kube delete rollout/web --ignore-not-found --timeout=600s
echo Done
