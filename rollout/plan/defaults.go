// Copyright The controllerkit Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
)

// filledIn is what a server writes into a template where a field is missing, by
// the field and its parent: SetDefaults_* of
// k8s.io/kubernetes/pkg/apis/core/v1/defaults.go, and the markers +default of
// k8s.io/api/core/v1, v1.34 to v1.37. What it fills into pods alone, such as
// requests that are limits, is not in a template.
func filledIn() map[string]any {
	m := map[string]any{
		"spec.dnsPolicy":                        "ClusterFirst",
		"spec.restartPolicy":                    "Always",
		"spec.schedulerName":                    "default-scheduler",
		"spec.securityContext":                  map[string]any{},
		"spec.terminationGracePeriodSeconds":    int64(30),
		"spec.volumeMode":                       "Filesystem", // of a claim's template
		"ports.protocol":                        "TCP",
		"httpGet.path":                          "/",
		"httpGet.scheme":                        "HTTP",
		"grpc.service":                          "",
		"fieldRef.apiVersion":                   "v1",
		"fileKeyRef.optional":                   false,
		"volumes.emptyDir":                      map[string]any{},
		"secret.defaultMode":                    int64(0o644),
		"configMap.defaultMode":                 int64(0o644),
		"downwardAPI.defaultMode":               int64(0o644),
		"projected.defaultMode":                 int64(0o644),
		"serviceAccountToken.expirationSeconds": int64(3600),
		"hostPath.type":                         "",
		"iscsi.iscsiInterface":                  "default",
		"rbd.pool":                              "rbd",
		"rbd.user":                              "admin",
		"rbd.keyring":                           "/etc/ceph/keyring",
		"azureDisk.cachingMode":                 "ReadWrite",
		"azureDisk.fsType":                      "ext4",
		"azureDisk.readOnly":                    false,
		"azureDisk.kind":                        "Shared",
		"scaleIO.storageMode":                   "ThinProvisioned",
		"scaleIO.fsType":                        "xfs",
	}
	for _, list := range []string{"containers", "initContainers"} {
		m[list+".terminationMessagePath"] = "/dev/termination-log"
		m[list+".terminationMessagePolicy"] = "File"
	}
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		m[probe+".timeoutSeconds"] = int64(1)
		m[probe+".periodSeconds"] = int64(10)
		m[probe+".successThreshold"] = int64(1)
		m[probe+".failureThreshold"] = int64(3)
	}
	return m
}

// fallback is the default of a key that the object under this name lacks, or
// nil.
func (c *comparison) fallback(name, key string, object map[string]any) any {
	switch name + "." + key {
	case "containers.imagePullPolicy", "initContainers.imagePullPolicy":
		return pullPolicy(object["image"])
	case "image.pullPolicy":
		return pullPolicy(object["reference"])
	case "ports.hostPort":
		if c.hostNetwork { // servers before v1.28 wrote it into templates, later ones into pods
			return object["containerPort"]
		}
	}
	return c.filled[name+"."+key]
}

// pullPolicy: no tag and no digest is the tag latest.
func pullPolicy(image any) string {
	s, _ := image.(string)
	s, _, pinned := strings.Cut(s, "@")
	_, tag, tagged := strings.Cut(s[strings.LastIndex(s, "/")+1:], ":")
	if tag == "latest" || !tagged && !pinned {
		return "Always"
	}
	return "IfNotPresent"
}

// itemName is the key that a list is merged by (listMapKey in
// k8s.io/api/core/v1), or "" where it is one value.
func itemName(list string, item map[string]any) string {
	text := func(key string) string { s, _ := item[key].(string); return s }
	switch list {
	case "containers", "initContainers", "env", "volumes", "imagePullSecrets", "resourceClaims", "claims", "schedulingGates":
		return text("name")
	case "volumeMounts":
		return text("mountPath")
	case "volumeDevices":
		return text("devicePath")
	case "hostAliases":
		return text("ip")
	case "ports":
		if protocol := text("protocol"); protocol != "" && protocol != "TCP" {
			return fmt.Sprint(item["containerPort"], "/", protocol)
		}
		return fmt.Sprint(item["containerPort"])
	}
	return ""
}
